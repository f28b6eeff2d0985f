"""Operators, accounts and users of NATS, as its tool nsc makes them: keys of Ed25519, and claims signed with them."""
import base64
import binascii
import json
import pathlib
import subprocess
import time

SEED = 18
PREFIXES = {'operator': 14, 'account': 0, 'user': 20}
NO_LIMITS = dict.fromkeys(('subs', 'conn', 'leaf', 'imports', 'exports', 'data', 'payload', 'mem_storage', 'disk_storage', 'streams',
                           'consumer'), -1) | {'wildcards': True}


def openssl(*arguments):
    return subprocess.run(['openssl', *map(str, arguments)], check=True, capture_output=True).stdout


def url_base64(raw):
    return base64.urlsafe_b64encode(raw).decode().rstrip('=')


class Key:
    """An nkey: base 32 of a kind, the key, and a CRC-16 of both."""

    def __init__(self, folder, name, kind):
        self.kind, self.file = kind, pathlib.Path(folder) / f'{name}.nkey'
        openssl('genpkey', '-algorithm', 'ed25519', '-out', self.file)
        secret = openssl('pkey', '-in', self.file, '-outform', 'DER')[-32:]
        public = openssl('pkey', '-in', self.file, '-pubout', '-outform', 'DER')[-32:]
        prefix = PREFIXES[kind] << 3
        self.public = self.text(bytes([prefix]) + public)
        self.seed = self.text(bytes([SEED << 3 | prefix >> 5, (prefix & 31) << 3]) + secret)

    @staticmethod
    def text(raw):
        return base64.b32encode(raw + binascii.crc_hqx(raw, 0).to_bytes(2, 'little')).decode().rstrip('=')

    def says_of(self, subject, **claims):
        """A JWT that this key has signed."""
        about = {'iat': int(time.time()), 'iss': self.public, 'sub': subject.public, 'name': subject.file.stem, 'jti': subject.public,
                 'nats': {'type': subject.kind, 'version': 2, **claims}}
        text = '.'.join(url_base64(json.dumps(part).encode()) for part in ({'typ': 'JWT', 'alg': 'ed25519-nkey'}, about))
        unsigned = self.file.with_suffix('.unsigned')
        unsigned.write_text(text)
        return text + '.' + url_base64(openssl('pkeyutl', '-sign', '-rawin', '-inkey', self.file, '-in', unsigned))


class Accounts:
    """An operator with an account that may store, and the one that the server wants for itself."""

    def __init__(self, folder):
        self.folder = folder
        self.operator = Key(folder, 'operator', 'operator')
        self.account, self.system = Key(folder, 'sensors', 'account'), Key(folder, 'system', 'account')

    def configuration(self):
        accounts = ', '.join(f'{account.public}: {self.operator.says_of(account, limits=NO_LIMITS if account is self.account else {})}'
                             for account in (self.account, self.system))
        return (f'operator: {self.operator.says_of(self.operator)}\nsystem_account: {self.system.public}\n'
                f'resolver: MEMORY\nresolver_preload: {{ {accounts} }}\n')

    def credentials(self, name, account=None):
        """The file for a user of the account, or of one that the server doesn't know."""
        user = Key(self.folder, name, 'user')
        token = (account or self.account).says_of(user, subs=-1, data=-1, payload=-1)
        file = self.folder / f'{name}.creds'
        file.touch(mode=0o600)
        file.write_text(f'-----BEGIN NATS USER JWT-----\n{token}\n------END NATS USER JWT------\n\n'
                        f'-----BEGIN USER NKEY SEED-----\n{user.seed}\n------END USER NKEY SEED------\n')
        return file, user
