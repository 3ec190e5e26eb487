"""sha256 of released files, where more than one public source names it; the rest is not known.

Google publishes none. Those of the seven archives of 2018 are listed by projects that have checked
them for years; vocabulary, index and configuration of the Chinese model were compared here too.
"""

CONFIG, VOCABULARY, INDEX, VALUES = (
    "bert_config.json",
    "vocab.txt",
    "bert_model.ckpt.index",
    "bert_model.ckpt.data-00000-of-00001",
)

_UNCASED = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
_CASED = "eeaa9875b23b04b4c54ef759d03db9d1ba1554838f8fb26c5d96fa551df93d02"

# From a preset's location to a dict from file to sha256.
SHA256 = {
    "2018_10_18/uncased_L-12_H-768_A-12": {
        CONFIG: "7b4e5f53efbd058c67cda0aacfafb340113ea1b5797d9ce6ee411704ba21fcbc",
        VOCABULARY: _UNCASED,
        INDEX: "04c1323086e2f1c5b7c0759d8d3e484afbb0ab45f51793daab9f647113a0117b",
        VALUES: "58580dc5e0bf0ae0d2efd51d0e8272b2f808857f0a43a88aaf7549da6d7a8a84",
    },
    "2018_10_18/uncased_L-24_H-1024_A-16": {
        CONFIG: "bfa42236d269e2aeb3a6d30412a33d15dbe8ea597e2b01dc9518c63cc6efafcb",
        VOCABULARY: _UNCASED,
        INDEX: "68b52f2205ffc64dc627d1120cf399c1ef1cbc35ea5021d1afc889ffe2ce2093",
        VALUES: "bc6b3363e3be458c99ecf64b7f472d2b7c67534fd8f564c0556a678f90f4eea1",
    },
    "2018_10_18/cased_L-12_H-768_A-12": {
        CONFIG: "f11dfb757bea16339a33e1bf327b0aade6e57fd9c29dc6b84f7ddb20682f48bc",
        VOCABULARY: _CASED,
        INDEX: "517d6ef5c41fc2ca1f595276d6fccf5521810d57f5a74e32616151557790f7b1",
        VALUES: "734d5a1b68bf98d4e9cb6b6692725d00842a1937af73902e51776905d8f760ea",
    },
    "2018_10_18/cased_L-24_H-1024_A-16": {
        CONFIG: "7adb2125c8225da495656c982fd1c5f64ba8f20ad020838571a3f8a954c2df57",
        VOCABULARY: _CASED,
        INDEX: "ef42a53f577fbe07381f4161b13c7cab4f4fc3b167cec6a9ae382c53d18049cf",
        VALUES: "6ff33640f40d472f7a16af0c17b1179ca9dcc0373155fb05335b6a4dd1657ef0",
    },
    "2018_11_23/multi_cased_L-12_H-768_A-12": {
        CONFIG: "e76c3964bc14a8bb37a5530cdc802699d2f4a6fddfab0611e153aa2528f234f0",
        VOCABULARY: "fe0fda7c425b48c516fc8f160d594c8022a0808447475c1a7c6d6479763f310c",
        INDEX: "7d8509c2a62b4e300feb55f8e5f1eef41638f4998dd4d887736f42d4f6a34b37",
        VALUES: "55b8a2df41f69c60c5180e50a7c31b7cdf6238909390c4ddf05fbc0d37aa1ac5",
    },
    "2018_11_03/multilingual_L-12_H-768_A-12": {
        CONFIG: "49063bb061390211d2fdd108cada1ed86faa5f90b80c8f6fdddf406afa4c4624",
        VOCABULARY: "87b44292b452f6c05afa49b2e488e7eedf79ea4f4c39db6f2f4b37764228ef3f",
        INDEX: "87c372c1a3b1dc7effaaa9103c80a81b3cbab04c7933ced224eec3b8ad2cc8e7",
        VALUES: "3cd83912ebeb0efe2abf35c9f1d5a515d8e80295e61c49b75c8853f756658429",
    },
    "2018_11_03/chinese_L-12_H-768_A-12": {
        CONFIG: "7aaad0335058e2640bcb2c2e9a932b1cd9da200c46ea7b8957d54431f201c015",
        VOCABULARY: "45bbac6b341c319adc98a532532882e91a9cefc0329aa57bac9ae761c27b291c",
        INDEX: "46315546e05ce62327b3e2cd1bed22836adcb2ff29735ec87721396edb21b82e",
        VALUES: "756699356b78ad0ef1ca9ba6528297bcb3dd1aef5feadd31f4775d7c7fc989ba",
    },
    "google-bert/bert-base-uncased": {
        "model.safetensors": "68d45e234eb4a928074dfd868cead0219ab85354cc53d20e772753c6bb9169d3",
        VOCABULARY: _UNCASED,
    },
    "google-bert/bert-base-chinese": {
        "model.safetensors": "3404a1ffd8da507042e8161013ba2a4fc49858b4e3f8fbf5ce5724f94883aec3",
    },
    "sentence-transformers/all-MiniLM-L6-v2": {
        "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        VOCABULARY: _UNCASED,
    },
}
