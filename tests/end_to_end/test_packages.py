"""The Debian packages hold what is installed, say what they need, work where they are unpacked, and come and go by dpkg."""
import os
import shutil
import subprocess
import unittest

import support
from installed import BUILD, Followers, InstallTest, Prefix, files_below, install, only, run

# A machine of its own for a moment: what this one has, and whatever is changed in it is forgotten.
MACHINE = '''
set -e
machine=$1
mount -t tmpfs none "$machine"
for folder in usr etc var; do
  mkdir -p "$machine/changed/$folder" "$machine/work/$folder"
  mount -t overlay overlay -o "lowerdir=/$folder,upperdir=$machine/changed/$folder,workdir=$machine/work/$folder" "/$folder"
done
shift
'''
APART = ['unshare', '--mount', '--propagation', 'private', 'sh', '-c']
# Arguments: a folder for results, archives, and the packages.
INSTALL_AND_REMOVE = '''
results=$1 archives=$2
shift 2
dpkg --force-unsafe-io --no-triggers --install "$@"
examples=/usr/share/doc/libtrama-dev/examples
cc -std=c99 "$examples/follow.c" -o "$results/by_pkg_config" $(pkg-config --cflags --libs trama-client)
cmake -S "$examples" -B "$results" -DCMAKE_BUILD_TYPE=Debug
cmake --build "$results"
for program in by_pkg_config follow_c follow_cpp sum; do "$results/$program" "file://$archives" 0 > "$results/$program.said"; done
trama --version > "$results/version"
trama verify "$archives"
test ! -e /usr/lib/python3/dist-packages/trama || env --unset PYTHONDONTWRITEBYTECODE /usr/bin/python3 -c '
import sys, trama
for window in trama.subscribe(sys.argv[1], start=trama.ALL, follow=False):
    print(window.seq, window.packets, window.links, window.missed)' "file://$archives" > "$results/python"
dpkg --force-unsafe-io --no-triggers --purge $(for package; do dpkg-deb --field "$package" Package; done)
test ! -e /usr/bin/trama
find "$machine/changed" -iname '*trama*' ! -type c > "$results/left"
'''


class PackagesTest(InstallTest, Followers):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if not shutil.which('dpkg-shlibdeps'):
            raise unittest.SkipTest('dpkg-dev is not installed')
        packages = cls.base / 'packages'
        run('cpack', '-G', 'DEB', '--config', BUILD / 'CPackConfig.cmake', '-B', packages)
        cls.packages = {path.name.split('_')[0]: path for path in packages.glob('*.deb')}


class Packages(PackagesTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.root = cls.base / 'root'
        for path in cls.packages.values():
            run('dpkg-deb', '-x', path, cls.root)
        cls.prefix = Prefix(cls.root / 'usr')

    def field(self, package, name):
        return run('dpkg-deb', '-f', self.packages[package], name).strip()

    def contents(self, package):
        lines = run('dpkg-deb', '-c', self.packages[package]).splitlines()
        return [(line.split()[0], line.split()[1], line.split()[5].lstrip('.')) for line in lines]

    def test_hold_all_that_is_installed_once(self):
        install('/usr', DESTDIR=str(self.folder))
        installed = files_below(self.folder / 'usr')
        packaged = sorted(path.removeprefix('/usr/') for package in self.packages
                          for mode, _, path in self.contents(package) if not mode.startswith('d'))
        self.assertEqual(packaged, installed)

    def test_belong_to_root_and_can_be_read_by_all(self):
        for package in self.packages:
            for mode, owner, path in self.contents(package):
                self.assertEqual(owner, 'root/root', path)
                self.assertRegex(mode, '^(drwxr-xr-x|-rw-r--r--|-rwxr-xr-x|lrwxrwxrwx)$', path)

    def test_depend_on_what_they_need(self):
        version = self.field('libtrama0', 'Version')
        for package, wanted in (('trama', ('libzmq5', 'libpcap0.8', 'libgraphblas7')),
                                ('libtrama0', ('libc6', 'libzmq5', 'libarchive13')),
                                ('libtrama-graphblas0', ('libgraphblas7', f'libtrama0 \\(= {version}\\)')),
                                ('libtrama-dev', ('libexpected-dev', f'libtrama0 \\(= {version}\\)'))):
            for one in wanted:
                self.assertRegex(self.field(package, 'Depends'), rf'(^|, ){one}', package)
        self.assertNotIn('graphblas', self.field('libtrama0', 'Depends'))
        for package in ('trama', 'libtrama0'):  # drivers have packages of their own for the sake of this
            self.assertNotRegex(self.field(package, 'Depends'), 'librte|libxdp')
        for driver in BUILD.glob('trama-*.so'):
            name = driver.stem.replace('_', '-')
            self.assertRegex(self.field(name, 'Depends'), rf'trama \(= {version}\)')
            self.assertRegex(self.field(name, 'Depends'), 'librte|libxdp')

    def test_tell_the_system_about_themselves(self):
        for package, library in (('libtrama0', 'libtrama'), ('libtrama-graphblas0', 'libtrama-graphblas')):
            control = self.folder / package
            run('dpkg-deb', '-e', self.packages[package], control)
            self.assertRegex((control / 'shlibs').read_text(), rf'(?m)^{library} 0 {package} ')
            self.assertIn('ldconfig', (control / 'postinst').read_text())
        run('dpkg-deb', '-e', self.packages['trama'], self.folder / 'control')
        self.assertTrue(os.access(self.folder / 'control/postinst', os.X_OK))
        run('sh', '-n', self.folder / 'control/postinst')
        self.assertIn('ExecStart=/usr/bin/trama ', (self.root / 'usr/lib/systemd/system/trama@.service').read_text())

    def test_pythons_package_lies_where_debians_python_looks(self):
        if 'python3-trama' not in self.packages:
            self.skipTest('the Python package is not built')
        package = only((self.root / 'usr/lib/python3/dist-packages').glob('*'))
        self.assertEqual(package.name, 'trama')
        only(package.glob('_trama*.so'))
        for wanted in ('python3', 'python3-numpy', 'libzmq5'):
            self.assertRegex(self.field('python3-trama', 'Depends'), rf'(^|, ){wanted}\b')

    def test_work_where_they_are_unpacked(self):
        self.assertEqual(run(self.root / 'usr/bin/trama', '--version'), run(support.TRAMA, '--version'))
        self.prefix.build_with_cmake(self.folder / 'b', self.root / 'usr/share/doc/libtrama-dev/examples')
        for name in ('follow_c', 'follow_cpp'):
            self.check_folder(self.folder / 'b' / name)
        self.check_sum(self.folder / 'b/sum')


class Dpkg(PackagesTest):
    def test_come_and_go(self):
        machine = self.folder / 'machine'
        machine.mkdir()
        if subprocess.run([*APART, MACHINE, 'sh', machine], capture_output=True).returncode != 0:
            self.skipTest('no mount namespace here')
        results = self.folder / 'results'
        results.mkdir()
        # Needs that this machine doesn't fulfill would be an error.
        run(*APART, MACHINE + INSTALL_AND_REMOVE, 'sh', machine, results, self.archives(), *self.packages.values())
        lines = self.lines()
        for name in ('by_pkg_config', 'follow_c', 'follow_cpp'):
            self.assertEqual((results / f'{name}.said').read_text().splitlines(), [*lines, '4 windows, missed 0'])
        self.assertEqual((results / 'sum.said').read_text().splitlines(), self.sums())
        self.assertEqual((results / 'version').read_text(), run(support.TRAMA, '--version'))
        if 'python3-trama' in self.packages:
            self.assertEqual((results / 'python').read_text().splitlines(),
                             [f'{w["seq"]} {w["n_packets"]} {w["n_links"]} 0' for w in self.inspected()])
        self.assertEqual((results / 'left').read_text(), '')


if __name__ == '__main__':
    unittest.main()
