import { afterAll, beforeAll, expect, test } from 'bun:test'
import { chown, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import type { Command } from '../../src/cli/command.ts'
import { commands } from '../../src/cli/commands.ts'
import { createProgram } from '../../src/cli/program.ts'
import { userName } from '../../src/lib/text/user-name.ts'
import { buildExecutable, installExecutable } from '../support/executable.ts'

let homeport: Awaited<ReturnType<typeof installExecutable>>
beforeAll(async () => {
  await buildExecutable()
  homeport = await installExecutable()
}, 60_000)
afterAll(() => homeport[Symbol.asyncDispose]())

const ROOT = join(import.meta.dir, '..', '..')

/** The words that call a command: its name, and a value for each required argument. */
function wordsFor({ name, arguments: args = '' }: Command): string[] {
  return [...name.split(' '), ...(args.match(/<[^>]*>/g) ?? []).map(() => 'ann')]
}

test('every command accepts --yes and --json', async () => {
  const accepted: string[] = []
  const program = createProgram(commands, async ({ name }, _args, builder) => {
    if (builder.opts()['yes'] === true && builder.opts()['json'] === true) accepted.push(name)
  })
  for (const command of commands) {
    const words = [...wordsFor(command), '--yes', '--json']
    await program.parseAsync(words, { from: 'user' })
  }
  expect(accepted).toEqual(commands.map(({ name }) => name))
})

test('commands that end sessions or remove an account ask for confirmation', async () => {
  const riskyCommands = commands.filter((command) => 'risk' in command).map(({ name }) => name)
  for (const name of ['users sign-out', 'users delete', 'operators remove', 'operators reset'])
    expect(riskyCommands).toContain(name)
  await using homeport = await installExecutable()
  const { run } = homeport
  await run(['init'])
  await run(['user', 'create', 'ann@example.com'])
  await run(['operators', 'add', 'dana', '--role', 'owner'])
  for (const [args, risk] of [
    [['user', 'sign-out', 'ann@example.com'], 'ends all sessions of ann@example.com'],
    [['operators', 'reset', 'dana'], 'removes the passkeys, password and sessions of dana'],
    [['operators', 'remove', 'dana'], 'removes the operator dana'],
  ] as const) {
    const unconfirmed = await run([...args])
    expect([args, unconfirmed.exitCode, unconfirmed.stderr]).toEqual([
      args,
      2,
      expect.stringMatching(new RegExp(`${risk}.*Add --yes`)),
    ])
    expect([args, (await run([...args, '--yes'])).exitCode]).toEqual([args, 0])
  }
  const audit = JSON.parse((await run(['audit', 'list', '--json'])).stdout)
  const uid = process.getuid?.() ?? 0
  expect(new Set(audit.entries.map(({ origin }: { origin: string }) => origin))).toEqual(
    new Set([userName(uid)]),
  )
}, 30_000)

test('names the local user who runs a command', () => {
  expect(userName(0)).toBe('root')
  expect(userName(4_000_000_000)).toBe('user 4000000000')
})

test.each([
  [['help', 'users', 'lst'], 'There is no command users lst'],
  [['users', 'help', 'lst'], 'There is no command users lst'],
  [['help', 'nix'], 'There is no command nix'],
])('help for an unknown command exits 2: %j', async (args, reason) => {
  const { exitCode, stderr } = await homeport.run(args)
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining(reason)])
})

test('help for a command shows its usage', async () => {
  for (const args of [
    ['help', 'user', 'list'],
    ['users', 'help', 'list'],
    ['user', 'help', 'list'],
  ]) {
    const { exitCode, stdout } = await homeport.run(args)
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining('Usage: homeport users list')])
  }
})

test('help lists the options that every command accepts', async () => {
  const { stdout } = await homeport.run(['help'])
  expect(stdout).toContain('Commands accept --json')
})

test('health prints JSON with --json when no server is running', async () => {
  const { exitCode, stdout } = await homeport.run(['health', '--json'])
  expect([exitCode, JSON.parse(stdout)]).toEqual([1, { server: 'not running' }])
})

test.skipIf(process.getuid?.() !== 0).each(['health', 'restart'])(
  '%s tells root who owns the data, not that no server is running',
  async (command) => {
    const dataDir = await mkdtemp(join(tmpdir(), 'homeport-owned-'))
    await chown(dataDir, 65_534, 65_534)
    const { exitCode, stderr } = Bun.spawnSync([process.execPath, 'src/main.ts', command], {
      env: { ...process.env, DATA_DIR: dataDir },
    })
    expect([exitCode, stderr.toString()]).toEqual([1, expect.stringContaining('belongs to nobody')])
    await rm(dataDir, { recursive: true })
  },
)

test('a command unknown to the running server asks the operator to restart it', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'homeport-older-'))
  await mkdir(dataDir, { recursive: true })
  // Servers of every version send this response to an unknown command.
  await using _older = Bun.serve({
    unix: join(dataDir, 'homeport.sock'),
    fetch: () => Response.json({ error: { code: 'not_found', message: 'no such command' } }),
  })
  const { exitCode, stderr } = await homeport.run(['status'], { DATA_DIR: dataDir })
  expect([exitCode, stderr]).toEqual([1, expect.stringContaining('run "homeport restart"')])
  await rm(dataDir, { recursive: true })
})

test('the architecture map lists every directory of src', async () => {
  const map = await Bun.file(join(ROOT, 'docs/architecture.md')).text()
  const files = new Bun.Glob('src/**/*.{ts,tsx}').scan(ROOT)
  const folders = new Set((await Array.fromAsync(files)).map((path) => basename(dirname(path))))
  expect([...folders].filter((name) => !map.includes(` ${name}/`) && name !== 'src')).toEqual([])
})

test('the shell completes commands, their groups and their options', async () => {
  const { stdout: script } = await homeport.run(['completion', 'bash'])
  const complete = async (...words: string[]) => {
    const line = `COMP_WORDS=(homeport ${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}; _homeport; echo "\${COMPREPLY[@]}"`
    return (await Bun.$`bash -c ${`${script}\n${line}`}`.text()).trim()
  }
  expect(await complete('stat')).toBe('status')
  expect(await complete('users', 's')).toBe('show send-verification sign-out subscription')
  expect(await complete('events', 'list', '--limit', '5', '--conf')).toBe('--conflicting')
  expect(await complete('users', 'sign-out', '--y')).toBe('--yes')
  for (const shell of ['zsh', 'fish'].filter((name) => Bun.which(name))) {
    const printed = await homeport.run(['completion', shell])
    expect([shell, await checkSyntax(shell, printed.stdout)]).toEqual([shell, ''])
  }
  expect((await homeport.run(['completion', 'csh'])).stderr).toContain('one of bash, zsh, fish')
})

test('the manual page lists every command and option', async () => {
  const { stdout: page } = await homeport.run(['man'])
  const roff = (text: string) => text.replaceAll('-', '\\-')
  for (const { name, summary, options = [] } of commands) {
    expect(page).toContain(`.SS ${roff(name)}`)
    expect(page).toContain(roff(summary))
    for (const [flags] of options) expect(page).toContain(`.B ${roff(flags)}`)
  }
})

async function checkSyntax(shell: string, script: string): Promise<string> {
  const child = Bun.spawn([shell, '-n'], { stdin: new Blob([script]), stderr: 'pipe' })
  return child.stderr.text()
}

test('a command fails if its output cannot be written, but not if its reader has closed the pipe', async () => {
  await using homeport = await installExecutable()
  await homeport.run(['init'])
  const to = (target: string) =>
    Bun.$`sh -c ${`./homeport openapi ${target}`}`.cwd(homeport.folder).quiet().nothrow()
  const full = await to('> /dev/full')
  expect([full.exitCode, full.stderr.toString()]).toEqual([
    1,
    expect.stringContaining('The output cannot be written (ENOSPC)'),
  ])
  const head = await to('| head -c 10')
  expect([head.exitCode, head.stderr.toString()]).toEqual([0, ''])
  expect(JSON.parse((await to('| cat')).stdout.toString()).openapi).toBeString()
})
