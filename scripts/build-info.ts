import type { BuildInfo } from '../src/version.ts'
import { ROOT } from './root.ts'

const COMMIT_LENGTH = 12

/**
 * The commit and the release keys to embed in an executable. `HOMEPORT_COMMIT` (`<hash> <date>`)
 * overrides git, for source code without a repository; `RELEASE_PUBLIC_KEY` lists the keys,
 * separated by commas.
 */
export async function readBuildInfo(): Promise<BuildInfo> {
  const releaseKeys = (process.env['RELEASE_PUBLIC_KEY'] ?? '').split(',').filter(Boolean)
  return { ...(await readCommit()), releaseKeys }
}

async function readCommit(): Promise<Pick<BuildInfo, 'commit' | 'date'>> {
  const preset = process.env['HOMEPORT_COMMIT']
  const [hash, day] = (preset || (await gitLog())).trim().split(' ')
  const time = new Date(day ?? '')
  if (!/^[0-9a-f]{12,}$/.test(hash ?? '') || Number.isNaN(time.getTime())) {
    if (preset) throw new Error('HOMEPORT_COMMIT must be "<hash> <date>" (git log format: %H %cI)')
    return { commit: null, date: null }
  }
  const commit = `${hash?.slice(0, COMMIT_LENGTH)}${!preset && (await isModified()) ? '-modified' : ''}`
  return { commit, date: time.toISOString() }
}

async function gitLog(): Promise<string> {
  return Bun.$`git log -1 --format=${'%H %cI'}`.cwd(ROOT).quiet().nothrow().text()
}

async function isModified(): Promise<boolean> {
  const { stdout } = await Bun.$`git status --porcelain --untracked-files=no`
    .cwd(ROOT)
    .quiet()
    .nothrow()
  return stdout.length > 0
}
