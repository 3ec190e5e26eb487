"""What an SSLConfig may say; tests of the server use one."""

import pytest

from bert_tf.errors import InputError
from serving.grpc_api import ssl_config
from tests.serving.grpc_api import certificates

GOOD = {"server_key": certificates.SERVER_KEY, "server_cert": certificates.SERVER_CERTIFICATE}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "has no server_key; wanted: its PEM text"),
        ({"server_key": certificates.SERVER_KEY}, "has no server_cert"),
        (
            {**GOOD, "server_key": certificates.OTHER_KEY},
            "server_key does not match server_cert; give the private key",
        ),
        ({**GOOD, "server_key": "/etc/server.key"}, "cannot be read"),
        ({**GOOD, "server_cert": "no PEM"}, "cannot be read"),
        ({**GOOD, "custom_ca": "no PEM"}, "custom_ca cannot be read"),
        ({**GOOD, "client_verify": True}, "client_verify: true without custom_ca"),
        ({**GOOD, "other": "x"}, "other"),
    ],
)
def test_wrong_files_are_refused(tmp_path, fields, message):
    file = tmp_path / "ssl.config"
    file.write_text(certificates.config_text(**fields))
    with pytest.raises(InputError, match=message):
        ssl_config.credentials(str(file))


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="--ssl_config_file="):
        ssl_config.credentials(str(tmp_path / "no"))


def test_a_key_and_its_certificate_are_credentials(tmp_path):
    file = tmp_path / "ssl.config"
    file.write_text(certificates.config_text(**GOOD, custom_ca=certificates.AUTHORITY))
    assert ssl_config.credentials(str(file)) is not None
