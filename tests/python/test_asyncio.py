"""Subscribers in an event loop."""
import asyncio
import time
import unittest

import packages
import trama
from packages import LONG_S, PackageTest


class Asyncio(PackageTest):
    def run_async(self, main):
        asyncio.run(asyncio.wait_for(main, LONG_S))

    def test_windows_come_while_other_tasks_run(self):
        run = self.start_run()
        turns = 0

        async def count():
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0.001)

        async def follow():
            counting = asyncio.create_task(count())
            got = []
            async with trama.subscribe_async(self.url, start=trama.ALL) as subscriber:
                for seq in range(3):
                    with self.assertRaises(TimeoutError):
                        await subscriber.next(0.1)
                    before = turns
                    asyncio.get_running_loop().call_later(0.05, self.send_windows, run, 1)
                    got.append(await subscriber.next(LONG_S))
                    self.assertEqual((got[-1].seq, got[-1].missed), (seq, 0))
                    self.assertGreater(turns, before)
                await asyncio.to_thread(self.end, run)
                async for _ in subscriber:
                    self.fail('a window more')
            self.assertTrue(subscriber.closed)
            counting.cancel()
            return got

        got = []

        async def main():
            got.extend(await follow())

        self.run_async(main())
        self.assert_cells([packages.cells(window) for window in got], packages.cells_of_blobs(self.folder / 'out'))

    def test_two_at_once(self):
        folder = self.archives(windows=30)

        async def numbers():
            return [window.seq async for window in trama.subscribe_async(folder.as_uri(), start=trama.ALL, follow=False)]

        async def main():
            self.assertEqual(await asyncio.gather(numbers(), numbers()), [[*range(30)]] * 2)

        self.run_async(main())

    def test_windows_that_wait_leave_other_tasks_their_turn(self):
        folder = self.archives(windows=30)
        turns = 0

        async def count():
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        async def main():
            subscriber = trama.subscribe_async(folder.as_uri(), start=trama.ALL, follow=False, ahead=32)
            time.sleep(0.5)  # all of them wait by then, most likely
            counting = asyncio.create_task(count())
            windows = [window async for window in subscriber]
            self.assertEqual(len(windows), 30)
            self.assertGreaterEqual(turns, 30)
            counting.cancel()

        self.run_async(main())

    def test_a_task_that_waits_can_be_cancelled_and_another_one_is_refused(self):
        run = self.start_run()

        async def main():
            async with trama.subscribe_async(self.url, start=trama.ALL) as subscriber:
                waiting = asyncio.create_task(subscriber.next())
                await asyncio.sleep(0.05)
                with self.assertRaisesRegex(RuntimeError, 'another task'):
                    await subscriber.next()
                waiting.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await waiting
                self.assertFalse(asyncio.get_running_loop().remove_reader(subscriber.fileno()))
                self.send_windows(run, 1)
                self.assertEqual((await subscriber.next(LONG_S)).seq, 0)
                waiting = asyncio.create_task(subscriber.next())
                await asyncio.sleep(0.05)
                await subscriber.aclose()
                with self.assertRaisesRegex(ValueError, 'closed'):
                    await waiting

        self.run_async(main())
        self.end(run)

    def test_errors(self):
        async def main():
            subscriber = trama.subscribe_async(f'trama+ipc://{self.folder / "nobody"}', reconnect=False)
            for _ in range(2):
                with self.assertRaisesRegex(trama.Error, 'no publisher answers'):
                    await subscriber.next(LONG_S)
            await subscriber.aclose()

        self.run_async(main())


if __name__ == '__main__':
    unittest.main()
