conclave index --collection hut --in files/
conclave serve --collection hut
