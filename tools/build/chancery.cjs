#!/usr/bin/env node
// What `npx chancery` starts. It is written for versions of Node that are too old for everything else, so that they can say so.
'use strict';

var least = /[\d.]+/.exec(require('../package.json').engines.node)[0];

if (!isEnough(process.versions.node.split('.'), least.split('.'))) {
  var versions = 'Node ' + least + ' or newer is needed, and this is ' + process.versions.node + '.';
  var remedy =
    'Install a newer one from https://nodejs.org, or use the executable of Chancery, which needs none.';
  console.error('chancery: ' + versions + ' ' + remedy);
  // EX_UNAVAILABLE of sysexits.h.
  process.exit(69);
}
require('./main.js');

function isEnough(found, needed) {
  for (var index = 0; index < needed.length; index += 1) {
    if (+found[index] !== +needed[index]) return +found[index] > +needed[index];
  }
  return true;
}
