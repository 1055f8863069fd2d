import { expect, test } from 'bun:test'
import {
  cutVariables,
  incompleteVariables,
  parseEnvironmentFile,
} from '../../src/lib/environment-file.ts'

// The rules of systemd.exec(5), EnvironmentFile=.
test.each([
  ['A=1\nB=two words \n', { A: '1', B: 'two words' }],
  ['# A=1\n; B=2\n\n  C = yes\n D=4', { C: 'yes', D: '4' }],
  ['A=pass#word # all of it', { A: 'pass#word # all of it' }],
  ['A="pass #\\"word\\" \\$ \\n"\nB=b', { A: 'pass #"word" $ \\n', B: 'b' }],
  ['A=\'it is \\ "so"\'\nB=', { A: 'it is \\ "so"', B: '' }],
  ['A="one" \'two\'three\nB=a\\ \\#b', { A: 'onetwothree', B: 'a #b' }],
  ['A=one \\\n  two\nB=2', { A: 'one   two', B: '2' }],
  ['A="one\ntwo"\nB=in"side"', { A: 'one\ntwo', B: 'in"side"' }],
  ['A=1\r\nB=2\r\n', { A: '1', B: '2' }],
  ['A=1\nA=2\nexport B=3\n1C=4', { A: '2' }],
] as [string, Record<string, string>][])('reads %j as systemd does', (text, variables) => {
  expect(parseEnvironmentFile(text)).toEqual(variables)
})

test.each([
  ['A=pass$word', ['A']],
  [`export A="x\${other}"`, ['A']],
  ["A='x$1'", ['A']],
  ['A=$$word\nB=ok', ['A']],
  ['A=$HOST/path', []],
  ['A=pass\\$word', []],
  [`A=\${word:-default}`, []],
  ['A=1 # costs $word', []],
  ['# A=$word', []],
  ['A=5$ B', []],
  ['A="Shop" # was $word', []],
  ['A=pass#$word', []],
  ['A=$word\nA=Shop', []],
  ['SET=pass$word', []],
])('finds out whether Bun loses a part of %j', (text, names) => {
  expect(incompleteVariables(text, { HOST: 'example.com', SET: 'pass$word' })).toEqual(names)
})

test.each([
  ['KEY=correct horse#battery', 'correct horse', true],
  ['export KEY=#secret', '', true],
  ['KEY=a#b # comment', 'a', true],
  ['KEY=\\$x#y', '$x', true],
  ['KEY=$HOST#y', 'example.com', true],
  ["KEY='abc#def", "'abc", true],
  ['KEY="a#b"', 'a#b', false],
  ['KEY=a # comment', 'a', false],
  ['KEY= # comment', '', false],
  ['KEY=a#b', 'set by the shell', false],
  ['# KEY=a#b', 'a', false],
])('finds out whether Bun has cut %j off at a #', (text, value, isCut) => {
  expect(cutVariables(text, { KEY: value })).toEqual(isCut ? ['KEY'] : [])
})
