import { beforeAll, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { chmod, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { buildExecutable, installExecutable } from '../support/executable.ts'
import { cookieIn, sendToConsole, setUpOperator } from '../support/operator.ts'
import { until } from '../support/until.ts'

beforeAll(buildExecutable, 300_000)

type Installed = Awaited<ReturnType<typeof installExecutable>>

/** Starts the server on a terminal, as if typed in its folder. */
function startOnTerminal(
  homeport: Installed,
  args: string,
  environment: Record<string, string> = {},
) {
  const wrapper = [
    'sh',
    '-c',
    `unset WEBHOOK_TOKEN; exec script -qefc './homeport ${args}' /dev/null`,
    'sh',
  ]
  return homeport.start({ ...browserPath(homeport), ...environment }, wrapper)
}

/** A PATH with a browser that only records the page that it should open. */
function browserPath({ folder }: Installed) {
  return { PATH: `${folder}:${process.env['PATH']}` }
}

async function installBrowser({ folder }: Installed) {
  const browser = join(folder, 'xdg-open')
  await Bun.write(
    browser,
    `#!/bin/sh\necho "$1" > ${folder}/opened.new\nmv ${folder}/opened.new ${folder}/opened\n`,
  )
  await chmod(browser, 0o755)
}

async function openedPage({ folder }: Installed): Promise<string> {
  await until(() => existsSync(join(folder, 'opened')), 'no page was opened')
  return (await Bun.file(join(folder, 'opened')).text()).trim()
}

function readLog({ folder }: Installed) {
  return Bun.file(join(folder, 'log')).text()
}

test('on a terminal, startup prints addresses and a link that creates the first operator', async () => {
  await using homeport = await installExecutable()
  await installBrowser(homeport)
  const server = await startOnTerminal(homeport, 'serve --open')
  await homeport.waitForLogLine('before production')
  const shown = await readLog(homeport)
  const url = `http://localhost:${server.port}`
  expect(shown).toContain(`API reference  ${url}/docs`)
  expect(shown).toContain(`Data folder    ${homeport.folder}/data`)
  expect(shown).toContain('5 things to set before production: ./homeport doctor')
  // The server always warns about a temporary PostgreSQL server, which does not sync.
  expect(shown.replace(/^.*has fsync.*$/m, '')).not.toMatch(/WARN|"level"/)
  const [link = '', token = ''] = /http\S+\/console#setup=(\S+)/.exec(shown) ?? []
  expect(link).toStartWith(`${url}/console#`)
  expect(await openedPage(homeport)).toBe(link)

  const ask = (headers = {}) => sendToConsole(url, 'login/link', { token }, headers)
  const proxied = await ask({ 'x-forwarded-for': '192.0.2.7' })
  expect([proxied.status, await proxied.text()]).toEqual([
    403,
    expect.stringContaining('only in a browser on the machine that runs the server'),
  ])
  const cookie = await setUpOperator(url, token)
  expect((await sendToConsole(url, 'me', undefined, { cookie })).status).toBe(200)
  expect((await ask()).status).toBe(401)
  const files = new Bun.Glob('data/**/*').scan({ cwd: homeport.folder, absolute: true })
  for await (const path of files)
    expect(Buffer.from(await Bun.file(path).bytes()).includes(token)).toBe(false)
  await server.stop()

  await rm(join(homeport.folder, 'log'))
  await startOnTerminal(homeport, 'serve')
  await homeport.waitForLogLine('before production')
  const again = await readLog(homeport)
  expect(again).toMatch(/Console {8}http:\/\/localhost:\d+\/console\r\n/)
}, 60_000)

test('adding an operator invalidates the link', async () => {
  await using homeport = await installExecutable()
  const server = await startOnTerminal(homeport, 'serve')
  await homeport.waitForLogLine('before production')
  const [, token = ''] = /#setup=(\S+)/.exec(await readLog(homeport)) ?? []
  await homeport.run(['operators', 'add', 'dana'])
  const { status } = await sendToConsole(`http://localhost:${server.port}`, 'login/link', { token })
  expect(status).toBe(401)
}, 60_000)

test('the link is never in a log, and --open needs no terminal', async () => {
  await using homeport = await installExecutable()
  await installBrowser(homeport)
  const piped = await homeport.start(browserPath(homeport), [], ['serve', '--open'])
  expect(await openedPage(homeport)).toContain(`http://localhost:${piped.port}/console#setup=`)
  await piped.stop()
  expect(await readLog(homeport)).not.toContain('setup=')

  const settings = { LOG_FORMAT: 'json', PATH: process.env['PATH'] ?? '' }
  const server = await startOnTerminal(homeport, 'serve --open', settings)
  await homeport.waitForLogLine('"listening"')
  await server.stop()
  const log = await readLog(homeport)
  expect(log).toContain('BASE_URL is not set')
  expect(log).not.toMatch(/setup=|API reference/)
}, 60_000)

test('the suggested command names the data folder if it is not the default', async () => {
  await using homeport = await installExecutable()
  await startOnTerminal(homeport, 'serve --data-dir "other folder"')
  await homeport.waitForLogLine('before production')
  const command = `DATA_DIR='${homeport.folder}/other folder' ./homeport doctor`
  expect(await readLog(homeport)).toContain(command)
}, 60_000)

test('a demo shows a link that signs in, and a request that renews a subscription', async () => {
  await using homeport = await installExecutable()
  const server = await startOnTerminal(homeport, 'serve --demo')
  await homeport.waitForLogLine('before production')
  const shown = await readLog(homeport)
  expect(shown).toContain('App user       ann@example.com, password "correct horse battery"')
  expect(shown).not.toMatch(/demo data added|WEBHOOK_TOKEN/)
  const [, token = ''] = /#demo=(\S+)/.exec(shown) ?? []
  const url = `http://localhost:${server.port}`
  expect((await sendToConsole(url, 'login/demo', { token }, { via: '1.1 proxy' })).status).toBe(403)
  const cookie = cookieIn(
    (await sendToConsole(url, 'login/demo', { token })).headers.get('set-cookie'),
  )
  const status = async (path: string, headers = {}) =>
    (await sendToConsole(url, path, undefined, { cookie, ...headers })).status
  expect(await status('operators')).toBe(200)
  expect(await status('operators', { via: '1.1 proxy' })).toBe(401)

  const [curl = ''] = /^curl .*$/m.exec(shown) ?? []
  const renewal = Bun.spawn(['sh', '-c', curl.trim()], { stdout: 'pipe', stderr: 'ignore' })
  expect(JSON.parse(await renewal.stdout.text())).toMatchObject({ code: 'ok' })
  const { response } = (await (
    await sendToConsole(url, 'events?type=RENEWAL', undefined, { cookie })
  ).json()) as { response: { events: { outcome: string; userId: string }[] } }
  expect(response.events[0]).toMatchObject({ outcome: 'applied' })
  await server.stop()

  const later = await homeport.start()
  const here = `http://localhost:${later.port}`
  expect((await sendToConsole(here, 'login/demo', { token })).status).toBe(403)
  expect((await sendToConsole(here, 'me', undefined, { cookie })).status).toBe(401)
  expect((await homeport.run(['operators', 'list'])).stdout.trim()).toBe('None.')
}, 60_000)
