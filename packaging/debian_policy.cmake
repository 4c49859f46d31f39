# What Debian's policy asks of a package beyond `cmake --install`: a changelog of the package, compressed manual pages, and the
# licence as a reference to the copy that every Debian has. cpack runs this before it packs what was installed.
set(usr ${CPACK_TEMPORARY_INSTALL_DIRECTORY}${CPACK_PACKAGING_INSTALL_PREFIX})
set(doc ${usr}/share/doc/${CPACK_PACKAGE_NAME})

string(TIMESTAMP year "%Y" UTC)
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE ${doc}/copyright
"Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/

Files: *
Copyright: ${year} ${CPACK_PACKAGE_CONTACT}
License: GPL-3+
 The complete text of the GNU General Public License, version 3, is in
 /usr/share/common-licenses/GPL-3. Later versions may be used instead.
")

file(WRITE ${doc}/changelog.Debian
"${CPACK_PACKAGE_NAME} (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium

  * Version ${CPACK_PACKAGE_VERSION}. Its changes are in CHANGELOG.md.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")

file(COPY_FILE ${doc}/CHANGELOG.md ${doc}/changelog)
file(GLOB pages ${usr}/share/man/man1/*.1)
execute_process(COMMAND gzip -9n ${pages} ${doc}/changelog ${doc}/changelog.Debian COMMAND_ERROR_IS_FATAL ANY)
