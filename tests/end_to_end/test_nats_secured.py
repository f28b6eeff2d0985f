"""Who may publish and subscribe over NATS, and at which server: certificates, passwords, users of accounts."""
import subprocess
import unittest

import support
from nats import NatsTest
from nats_credentials import Accounts, Key


class Secured(NatsTest):
    def openssl(self, *arguments):
        subprocess.run(['openssl', *map(str, arguments)], cwd=self.folder, check=True, capture_output=True)

    def make_certificates(self):
        """A CA, and a certificate of its for localhost."""
        curve = ('-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes')
        self.openssl('req', '-x509', *curve, '-keyout', 'ca.key', '-out', 'ca.pem', '-subj', '/CN=test', '-days', '2')
        self.openssl('req', *curve, '-keyout', 'server.key', '-out', 'server.csr', '-subj', '/CN=localhost')
        (self.folder / 'names').write_text('subjectAltName=DNS:localhost\n')
        self.openssl('x509', '-req', '-in', 'server.csr', '-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-out',
                     'server.pem', '-days', '2', '-extfile', 'names')
        self.openssl('req', '-x509', *curve, '-keyout', 'other.key', '-out', 'other.pem', '-subj', '/CN=other', '-days', '2')

    def start_secured(self):
        self.make_certificates()
        return self.start_hub(f'tls {{ cert_file: "{self.folder / "server.pem"}", key_file: "{self.folder / "server.key"}" }}\n'
                              'authorization { users: [ { user: "me", password: "se:cret" } ] }')

    def test_only_the_right_server_is_talked_to(self):
        hub = self.start_secured()
        url = self.url(hub, scheme='nats+tls', login='me:se%3Acret@', host='localhost')
        run = self.start_run(f'ca_file = "{self.folder / "ca.pem"}"', url=url)
        self.await_said(run, 'publishing at')
        login = self.write('login', b'me:se:cret\n')
        login.chmod(0o600)
        subscriber = self.subscribe('--number', '0', '--ca', 'ca.pem', '--login', login,
                                    url=self.url(hub, scheme='nats+tls', host='localhost'))
        self.send_windows(run, 2)
        self.assertEqual([self.next_window(subscriber)['seq'] for _ in range(2)], [0, 1])
        said = self.end(run)
        self.assertEqual(self.windows_of(subscriber), [])
        for wrong in (('--ca', 'other.pem', url), ('--ca', 'ca.pem', url.replace('localhost', '127.0.0.1')),
                      ('--ca', 'ca.pem', url.replace('se%3Acret', 'guess%3Aed'))):
            done = self.trama('subscribe', '--number', '0', '--timeout', '1', *wrong, code=1)
            self.assertEqual(done.stdout, '')
            said += done.stderr
        for secret in ('se:cret', 'se%3Acret', 'guess'):
            self.assertNotIn(secret, said)

    def test_a_publisher_gives_nothing_to_another_server(self):
        hub = self.start_secured()
        url = self.url(hub, scheme='nats+tls', login='me:se%3Acret@', host='localhost')
        run = self.start_run(f'ca_file = "{self.folder / "other.pem"}"\nlinger = 0.2', url=url)
        self.await_said(run, 'no connection to nats+tls://localhost')
        self.send_windows(run, 2)
        said = self.end(run)
        self.assertEqual(self.stored(said), (0, 2))
        self.assertNotIn('cret', said)

    def test_users_of_the_account_are_let_in_and_nobody_else(self):
        accounts = Accounts(self.folder)
        hub = self.start_hub(accounts.configuration())
        sensor, user = accounts.credentials('sensor')
        reader, _ = accounts.credentials('reader')
        run = self.start_run(f'credentials_file = "{sensor}"', url=self.url(hub))
        self.await_said(run, 'publishing at')
        subscriber = self.subscribe('--number', '0', '--credentials', reader, url=self.url(hub))
        self.send_windows(run, 2)
        self.assertEqual([self.next_window(subscriber)['seq'] for _ in range(2)], [0, 1])
        said = self.end(run)
        self.assertEqual(self.stored(said), (2, 0))
        self.assertEqual(self.windows_of(subscriber), [])
        stranger, other = accounts.credentials('stranger', Key(self.folder, 'elsewhere', 'account'))
        for credentials in (('--credentials', stranger), ()):
            done = self.trama('subscribe', '--number', '0', '--timeout', '1', *credentials, self.url(hub), code=1)
            self.assertEqual(done.stdout, '')
            said += done.stderr
        for secret in (user.seed, other.seed):
            self.assertNotIn(secret, said)

    def test_other_machines_are_not_reached_without_encryption(self):
        capture = self.write('a.pcap', support.pcap([]))
        done = self.trama('run', self.graph(url='nats://me:secret@192.0.2.1/roof'), '-r', capture, '--key', self.key_file(), code=2)
        self.assertIn('nats+tls://', done.stderr)
        self.assertNotIn('secret', done.stderr)


if __name__ == '__main__':
    unittest.main()
