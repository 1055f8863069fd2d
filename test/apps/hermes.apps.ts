import { expect, test } from 'bun:test'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeEmptyApp, report, run } from '../support/app-projects.ts'
import { installClient } from '../support/client-package.ts'

const MINUTES = 60_000

/** Compiles each file as Metro and React Native do. */
const COMPILE = `
const { execFileSync } = require('node:child_process')
const { readdirSync, readFileSync, writeFileSync } = require('node:fs')
const { transformSync } = require('@babel/core')
const folder = 'node_modules/homeport-client/cjs/'
for (const filename of readdirSync(folder).filter((name) => name.endsWith('.js'))) {
  const options = { filename, presets: ['module:@react-native/babel-preset'] }
  writeFileSync('file.js', transformSync(readFileSync(folder + filename, 'utf8'), options).code)
  execFileSync(process.argv[2], ['-emit-binary', '-out', 'file.hbc', 'file.js'], { stdio: ['ignore', 'ignore', 'pipe'] })
  console.log(filename)
}
`

test(
  'Hermes in React Native 0.74, the oldest that the page names, compiles the client',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'homeport-hermes-'))
    try {
      const app = await makeEmptyApp(folder, 'hermes')
      const packages = ['react-native@0.74', '@react-native/babel-preset@0.74', '@babel/core@7']
      run(app, 'npm', 'install', '--no-audit', '--no-fund', ...packages)
      await installClient(app)
      await writeFile(join(app, 'compile.js'), COMPILE)
      const hermesc = join(app, 'node_modules/react-native/sdks/hermesc/linux64-bin/hermesc')
      expect(run(app, 'node', 'compile.js', hermesc)).toContain('client.js')
      await report(app, 'Hermes of React Native', 'react-native')
    } finally {
      await rm(folder, { recursive: true })
    }
  },
  5 * MINUTES,
)
