"""Who a subscriber is: passwords and keys stand in no error, and the files of NATS are used."""
import inspect
import pathlib
import socket
import threading
import time
import traceback
import unittest

import nats
import packages
import trama
from packages import LONG_S, PackageTest

SECRET = 'topsecret'
URL = f'nats://me:{SECRET}@127.0.0.1:1/x'
KEY = 'rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7'
# Every option, with values of kinds that it never has.
WRONG = {
    'start': ('live', 5, None), 'overflow': ('block', 5, None), 'ahead': ('8', 1.5, None), 'reconnect': ('yes', None, 1),
    'past_end': ('yes', None, 1), 'follow': ('yes', None, 1), 'silence': ('5', None, True), 'max_bytes': ('1', 1.5, None),
    'max_links': ('1', 1.5, None), 'publisher_key': (KEY.encode(), 5), 'secret_key': (KEY.encode(), 5),
    **{name: (SECRET, SECRET.encode(), 5) for name in ('login', 'credentials', 'ca', 'certificate', 'certificate_key')}}


class Secrets(PackageTest):
    def assert_hidden(self, error):
        """Neither in its text nor in what it came from."""
        while error is not None:
            for text in (str(error), repr(error), *traceback.format_exception_only(error)):
                for secret in (SECRET, KEY[:10]):
                    self.assertNotIn(secret, text)
            error = error.__cause__ or error.__context__

    def test_options_of_a_wrong_kind(self):
        options = set(inspect.signature(trama.Subscriber.__init__).parameters) - {'self', 'url'}
        self.assertEqual(set(WRONG), options)
        for subscribe in (trama.subscribe, trama.subscribe_async):
            for name, values in WRONG.items():
                for value in values:
                    with self.subTest(name, value=type(value)):
                        with self.assertRaisesRegex((TypeError, ValueError), f'`{name}` is') as caught:
                            subscribe(URL, **{'publisher_key': KEY, 'secret_key': KEY, name: value})
                        self.assert_hidden(caught.exception)

    def test_urls_of_a_wrong_kind(self):
        for url in (URL.encode(), pathlib.Path(URL), (URL,), URL + '\ud800'):
            with self.assertRaisesRegex((TypeError, ValueError), '`url` is') as caught:
                trama.subscribe(url)
            self.assert_hidden(caught.exception)

    def test_the_extension_itself(self):
        for arguments in ((trama._trama.Url(URL),), (trama._trama.Keys(KEY, KEY), trama._trama.Url(URL))):
            with self.assertRaises(TypeError) as caught:
                trama._trama.Stream(*arguments, silence='5')
            self.assert_hidden(caught.exception)

    def test_urls_that_can_not_be(self):
        for url in (URL.replace('/x', '/x.*'), URL.replace(':1/', ':70000/'), URL + '?shop=x', URL.replace('topsecret', 'topsecret%4'),
                    URL.replace('nats', 'NATS'), URL.replace('nats', 'http'), URL + '\n', URL.replace('nats', 'trama+tcp')):
            with self.assertRaises(trama.Error) as caught:
                trama.subscribe(url)
            self.assert_hidden(caught.exception)

    def test_errors_that_name_the_stream(self):
        subscriber = trama.subscribe(URL, reconnect=False)
        self.addCleanup(subscriber.close)
        with self.assertRaisesRegex(trama.Error, r'nats://127\.0\.0\.1:1/x: ') as caught:
            subscriber.next(LONG_S)
        self.assert_hidden(caught.exception)

    def test_where_to_begin(self):
        for make in (trama.since, trama.number, trama.last):
            with self.assertRaisesRegex(TypeError, 'a whole number'):
                make(1.5)


class Nats(nats.NatsTest):
    def setUp(self):
        super().setUp()
        self.url = nats.NatsTest.url

    def test_files_that_can_not_be_used(self):
        missing = self.folder / 'missing'
        public = self.write('public', f'me:{SECRET}\n'.encode())
        public.chmod(0o644)
        cases = [({name: missing}, 'missing.*No such file') for name in ('login', 'credentials', 'ca')]
        cases += [({'certificate': missing, 'certificate_key': missing}, 'missing.*No such file'),
                  ({'certificate': missing}, 'go together'), ({'certificate_key': missing}, 'go together'),
                  ({'login': missing, 'credentials': missing}, 'exclude each other'), ({'login': public}, 'chmod 600'),
                  ({'ca': public}, 'neither a certificate nor a key')]
        for files, text in cases:
            with self.subTest(text, files=list(files)), self.assertRaisesRegex(trama.Error, text) as caught:
                trama.subscribe('nats://127.0.0.1:1/x', **files)
            self.assertNotIn(SECRET, str(caught.exception))
        for name in ('login', 'credentials', 'ca', 'certificate', 'certificate_key'):
            with self.assertRaisesRegex(ValueError, f'`{name}` is for streams of NATS'):
                trama.subscribe('trama+tcp://127.0.0.1:1', **{name: missing})

    def test_a_login(self):
        hub = self.start_hub(f'authorization {{ users: [ {{ user: me, password: "{SECRET}" }} ] }}')
        login, wrong = self.write('login', f'me:{SECRET}\n'.encode()), self.write('wrong', b'me:other\n')
        for file in (login, wrong):
            file.chmod(0o600)
        for options, text in (({'login': login}, 'nothing is published there'), ({'login': wrong}, 'no connection'), ({}, 'no connection')):
            with self.subTest(text), trama.subscribe(self.url(hub), reconnect=False, silence=1, **options) as subscriber:
                with self.assertRaisesRegex(trama.Error, text) as caught:
                    subscriber.next(LONG_S)
                self.assertNotIn(SECRET, str(caught.exception))

    def test_windows_come_to_who_has_logged_in(self):
        hub = self.start_hub(f'authorization {{ users: [ {{ user: me, password: "{SECRET}" }} ] }}')
        login = self.write('login', f'me:{SECRET}\n'.encode())
        login.chmod(0o600)
        run = self.start_run(f'login_file = "{login}"', url=self.url(hub))
        self.await_said(run, 'publishing at')
        with trama.subscribe(self.url(hub), start=trama.number(0), login=login) as subscriber:
            self.send_windows(run, 3)
            windows = [subscriber.next(LONG_S) for _ in range(3)]
            self.end(run)
            self.assertEqual(list(subscriber), [])
        self.assertEqual([(w.seq, w.missed, w.sensor) for w in windows], [(n, 0, 'roof') for n in range(3)])
        self.assertEqual([packages.cells(w) for w in windows], packages.cells_of_blobs(self.folder / 'out'))

    def test_others_run_while_the_last_reference_goes(self):
        """A server that says nothing: its connection, which a subscriber's end waits for, takes seconds to be given up."""
        with socket.create_server(('127.0.0.1', 0)) as silent:
            subscriber = trama.subscribe(f'nats://127.0.0.1:{silent.getsockname()[1]}/x')
            silent.accept()[0].detach()  # open until the program ends
            ended = []

            def wait():
                with self.assertRaisesRegex(ValueError, 'closed'):
                    subscriber._stream.next(None)
                ended.append(time.monotonic())

            thread = threading.Thread(target=wait, daemon=True)
            thread.start()
            time.sleep(0.3)  # so that it most likely waits by then, and has a reference of its own
            begun = last = time.monotonic()
            longest = 0
            subscriber.close()
            while thread.is_alive() and last < begun + LONG_S:
                time.sleep(0.005)
                longest, last = max(longest, time.monotonic() - last), time.monotonic()
            self.assertEqual(len(ended), 1)
            self.assertGreater(ended[0] - begun, 0.5)
            self.assertLess(longest, (ended[0] - begun) / 2)


if __name__ == '__main__':
    unittest.main()
