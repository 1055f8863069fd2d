import { expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createNotifier } from '../../src/cli/service/notify.ts'
import { readConfig } from '../../src/config/config.ts'
import { createLog } from '../../src/lib/log/log.ts'

/** Prints the first two datagrams that arrive at a socket. The runtime cannot receive them. */
const RECEIVER = `
import os, socket, sys
path = sys.argv[1]
server = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
server.bind('\\0' + path[1:] if path[0] == '@' else path)
os.write(1, b'bound')
os.write(1, repr([server.recv(200).decode() for _ in range(2)]).encode())
`

for (const kind of ['a socket file', 'an abstract socket']) {
  test.skipIf(Bun.which('python3') === null || process.platform !== 'linux')(
    `reports its state to ${kind} without systemd's own program`,
    async () => {
      const folder = await mkdtemp(join(tmpdir(), 'homeport-notify-'))
      const socket = kind === 'a socket file' ? join(folder, 'notify') : `@${folder}`
      await using receiver = Bun.spawn(['python3', '-c', RECEIVER, socket], { stdout: 'pipe' })
      const output = receiver.stdout.getReader()
      const line = async () => Buffer.from((await output.read()).value ?? []).toString()
      expect(await line()).toBe('bound')
      const config = readConfig({}, { NOTIFY_SOCKET: socket, DATA_DIR: folder })
      const { PATH = '' } = process.env
      process.env['PATH'] = folder
      try {
        const notifier = createNotifier(config, createLog('silent'))
        await notifier.ready()
        await notifier.stopping()
      } finally {
        process.env['PATH'] = PATH
      }
      expect(await line()).toBe(`['MAINPID=${process.pid}\\nREADY=1', 'STOPPING=1']`)
      await rm(folder, { recursive: true })
    },
  )
}
