"""TLS of the gRPC API: TensorFlow Serving's SSLConfig, in protobuf's text format."""

import os
import ssl

import grpc

from bert_tf.errors import InputError
from serving import text_protos

_FIELDS = {
    "server_key": (1, "string"),
    "server_cert": (2, "string"),
    "custom_ca": (3, "string"),
    "client_verify": (4, "bool"),
}


def credentials(path: str) -> grpc.ServerCredentials:
    """Credentials from a file with the key, the certificate and, for clients', the authority.

    Args:
      path: of a text SSLConfig; its fields hold PEM text, no paths.

    Raises:
      InputError: the file cannot be read, something is missing, is no PEM, or does not match.
    """
    what = f"--ssl_config_file={path}"
    config = text_protos.message_classes({"SSLConfig": _FIELDS})["SSLConfig"]()
    text_protos.parse_file(path, config, what)
    for name in ("server_key", "server_cert"):
        if not getattr(config, name):
            raise InputError(f"{what} has no {name}; wanted: its PEM text, not a path.")
    if config.client_verify and not config.custom_ca:
        raise InputError(
            f"{what} has client_verify: true without custom_ca, so that no client could be "
            "verified; give the certificates of the authority that signs those of clients."
        )
    key, certificate = config.server_key.encode(), config.server_cert.encode()
    _check_pair(what, key, certificate)
    if config.custom_ca:
        _check_authority(what, config.custom_ca)
    return grpc.ssl_server_credentials(
        [(key, certificate)],
        root_certificates=config.custom_ca.encode() or None,
        require_client_auth=config.client_verify,
    )


def _check_pair(what: str, key: bytes, certificate: bytes) -> None:
    """gRPC itself would refuse each connection later on, and say little."""
    # Python's ssl reads files only; these are in memory, as keys do not belong on disks.
    descriptor = os.memfd_create("server", os.MFD_CLOEXEC)
    try:
        os.write(descriptor, key + b"\n" + certificate)
        path = f"/proc/self/fd/{descriptor}"
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        # The password keeps an encrypted key from asking for one at the terminal.
        context.load_cert_chain(path, password="")
    except ssl.SSLError as error:
        if "KEY_VALUES_MISMATCH" in str(error):
            raise InputError(
                f"{what}: server_key does not match server_cert; give the private key that the "
                "certificate was made for."
            ) from None
        raise InputError(
            f"{what}: server_key and server_cert cannot be read ({error.reason or error}); wanted: "
            "a private key without a password and its certificate, in PEM text."
        ) from None
    finally:
        os.close(descriptor)


def _check_authority(what: str, certificates: str) -> None:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_verify_locations(cadata=certificates)
    except (ssl.SSLError, ValueError) as error:
        raise InputError(
            f"{what}: custom_ca cannot be read ({error}); wanted: certificates in PEM text."
        ) from None
