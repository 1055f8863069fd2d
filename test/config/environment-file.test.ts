import { expect, test } from 'bun:test'
import { parseDotEnv, parseEnvironmentFile } from '../../src/config/environment-file.ts'

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

const ENVIRONMENT = { HOST: 'example.com', SET: 'by the shell' }

// As the runtime read it for earlier versions.
test.each([
  ['A=1\nexport B = two words \nA=3', { A: '3', B: 'two words' }],
  ['# A=1\nB= # comment\nC=c # $word "x"', { B: '', C: 'c' }],
  ['A="a#b \\n \\t" x\nB=\'a#b \\n\'\nC=`"q"`', { A: 'a#b \n \\t', B: 'a#b \\n', C: '"q"' }],
  ['A="one\ntwo"\nB=b\r\nC=c\r\n', { A: 'one\ntwo', B: 'b', C: 'c' }],
  [
    `A=$HOST/path\nB=\${A}:1\nC=\${word:-default}`,
    { A: 'example.com/path', B: 'example.com/path:1', C: 'default' },
  ],
  ['A=pass\\$word\nB=5$ B\nC=$word\nC=Shop', { A: 'pass$word', B: '5$ B', C: 'Shop' }],
  ['SET=pass$word', { SET: 'pass' }],
  ['\uFEFFA=1\nB=2', { A: '1', B: '2' }],
] as [string, Record<string, string>][])('reads %j as a .env file', (text, variables) => {
  expect(parseDotEnv(text, ENVIRONMENT)).toEqual({ variables, faults: [] })
})

test.each([
  'A=pass$word',
  `export A="x\${other}"`,
  "A='x$1'",
  'A=$$word\nB=ok',
  'A=correct horse#battery',
  'export A=#secret',
  'A=a#b # comment',
  "A='abc#def",
])('refuses %j, part of which some programs would drop', (text) => {
  expect(parseDotEnv(text, ENVIRONMENT).faults.map(({ name }) => name)).toEqual(['A'])
})
