// Loaded before a child's program: require("./storm") finds our module where there is no other.
"use strict";

const Module = require("module");
const path = require("path");

const find = Module._resolveFilename;

Module._resolveFilename = function (request, ...rest) {
  try {
    return find.call(this, request, ...rest);
  } catch (error) {
    if (!/^\.{1,2}\/(.*\/)?storm(\.js)?$/.test(request)) throw error;
    return path.join(__dirname, "storm.js");
  }
};
