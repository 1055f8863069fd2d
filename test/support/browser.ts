import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A browser of this machine, or null: the tests that need one are left out without it. */
export const CHROMIUM = Bun.which('chromium') ?? Bun.which('google-chrome')

const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-dev-shm-usage',
]

/** Opens a page in a new profile until the answered object is disposed of. */
export async function openPage(url: string) {
  const profile = await mkdtemp(join(tmpdir(), 'homeport-browser-'))
  const browser = Bun.spawn([CHROMIUM ?? '', ...FLAGS, `--user-data-dir=${profile}`, url], {
    stdout: 'ignore',
    stderr: 'ignore',
  })
  return {
    async [Symbol.asyncDispose]() {
      browser.kill('SIGKILL')
      await browser.exited
      await rm(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
    },
  }
}

/** The client as a browser loads it. */
export async function bundle(entry: string): Promise<string> {
  const built = await Bun.build({ entrypoints: [entry], target: 'browser', minify: true })
  return (await built.outputs[0]?.text()) ?? ''
}
