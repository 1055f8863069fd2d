import { afterAll, beforeAll, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type Acknowledged, findLostRecords, startWrites } from '../support/acknowledged.ts'
import { buildExecutable, installExecutable } from '../support/executable.ts'
import { fault } from '../support/fault.ts'
import { deliver, register, signIn } from '../support/requests.ts'

type Homeport = Awaited<ReturnType<typeof installExecutable>>

/** Must be on a disk, not in memory. */
const FOLDER = await mkdtemp('/var/tmp/homeport-power-')
const ENV = { RATE_LIMITS: 'off' }
const MB = 1024 * 1024
const KILLS = 200
const POWER_CUTS = 50
const disk = await makeDisk()
/** Mounting a disk image needs root. */
const withDisk = test.skipIf(disk === null)
const withStrace = test.skipIf(disk === null || Bun.which('strace') === null)

const group = await makeGroup()
/** Creating a control group needs root. */
const withMemoryLimit = test.skipIf(group === null)

beforeAll(buildExecutable, 300_000)
afterAll(async () => {
  Bun.spawnSync(['umount', join(FOLDER, 'mounted')])
  await rm(FOLDER, { recursive: true, force: true })
  // The system may still be terminating a killed process.
  for (let tries = 0; group && existsSync(group.folder) && tries < 100; tries++) {
    await rmdir(group.folder).catch(() => Bun.sleep(20))
  }
})

test(`${KILLS} kills under load lose no acknowledged data, and the server is ready within 2 s ${fault(1)}`, async () => {
  await using homeport = await installExecutable()
  const dataDir = join(homeport.folder, 'data')
  let token = ''
  let written = 0
  let slowest = 0
  for (let cycle = 0; cycle < KILLS; cycle++) {
    const start = performance.now()
    const server = await homeport.start(ENV)
    slowest = Math.max(slowest, performance.now() - start)
    if (token === '') ({ accessToken: token } = await register(server, 'ann@example.com'))
    const load = startWrites(server, token, `kill${cycle}`)
    await Bun.sleep(50 + Math.random() * 450)
    load.stop()
    await server.stop('SIGKILL')
    await load.done
    written += expectAllStored(load.acknowledged, dataDir)
  }
  console.log(
    `1: ${written} acknowledged over ${KILLS} kills, none lost; slowest start ${Math.round(slowest)} ms`,
  )
  expect(slowest).toBeLessThan(2_000)
}, 600_000)

withDisk(
  `${POWER_CUTS} power cuts under load lose no acknowledged data ${fault(2)}`,
  async () => {
    await using homeport = await installExecutable()
    let written = 0
    for (let cycle = 0; cycle < POWER_CUTS; cycle++) {
      const { acknowledged, dataDir } = await cutPower(homeport, `cut${cycle}`, [])
      written += expectAllStored(acknowledged, dataDir)
    }
    console.log(`2: ${written} acknowledged over ${POWER_CUTS} power cuts, none lost`)
  },
  600_000,
)

withStrace(
  `with fsync disabled, the same power cuts lose acknowledged data ${fault(3)}`,
  async () => {
    await using homeport = await installExecutable()
    const wrapper = injectFsync('retval=0:when=20+')
    let losses = 0
    for (let cycle = 0; cycle < 5; cycle++) {
      const { acknowledged, dataDir } = await cutPower(homeport, `nosync${cycle}`, wrapper)
      const count = Object.values(acknowledged).flat().length
      const loss = describeLoss(acknowledged, dataDir)
      console.log(`3: ${count} acknowledged, ${loss}`)
      if (loss !== 'none lost') losses++
    }
    expect(losses).toBeGreaterThanOrEqual(1)
  },
  120_000,
)

withStrace(
  `when fsync fails, the server exits, acknowledges nothing more and loses no acknowledged data ${fault(4)}`,
  async () => {
    await using homeport = await installExecutable()
    const failing = injectFsync('error=EIO:when=60+')
    const server = await homeport.start(ENV, failing)
    const events: string[] = []
    const send = async (id: string) =>
      (await deliver(server, id).catch(() => ({ status: 0 }))).status
    for (let at = 0; at < 500; at++) {
      if ((await send(`E${at}`)) !== 200) break
      events.push(`E${at}`)
    }
    const failedAt = performance.now()
    expect(events.length).toBeLessThan(500)
    for (let at = 0; at < 20; at++) expect(await send(`F${at}`)).not.toBe(200)
    expect(await server.process.exited).toBe(1)
    expect(performance.now() - failedAt).toBeLessThan(5_000)
    await homeport.waitForLogLine('the disk lost data that was written')
    const dataDir = join(homeport.folder, 'data')
    expectAllStored({ events, emails: [], keys: [] }, dataDir)
  },
  30_000,
)

withMemoryLimit(
  `when memory runs out, the server is killed and loses no acknowledged data ${fault(32)}`,
  async () => {
    await using homeport = await installExecutable()
    const joinGroup = ['sh', '-c', `echo $$ > ${group?.folder}/cgroup.procs && exec "$0" "$@"`]
    const server = await homeport.start(ENV, joinGroup)
    const { accessToken } = await register(server, 'ann@example.com')
    const load = startWrites(server, accessToken, 'memory')
    await Bun.sleep(500)
    const { folder, limit, usage } = group as ControlGroup
    const used = Number(await Bun.file(join(folder, usage)).text())
    await Bun.write(join(folder, limit), String(used + 8 * MB))
    // Each sign-in hashes a password, which needs memory.
    const signIns = Array.from({ length: 64 }, () =>
      signIn(server, 'ann@example.com').catch(() => null),
    )
    const signal = await Promise.race([
      server.process.exited.then(() => server.process.signalCode),
      Bun.sleep(20_000),
    ])
    load.stop()
    await Promise.all([load.done, ...signIns])
    expect(signal).toBe('SIGKILL')
    const start = performance.now()
    const restarted = await homeport.start(ENV)
    expect(performance.now() - start).toBeLessThan(2_000)
    await restarted.stop()
    const written = expectAllStored(load.acknowledged, join(homeport.folder, 'data'))
    console.log(`32: killed with ${written} acknowledged, none lost`)
  },
  60_000,
)

/** The start of a command that runs a program with `fault` injected into its fsyncs. */
function injectFsync(fault: string): string[] {
  const quiet = ['-f', '-qq', '-o', '/dev/null']
  return ['strace', ...quiet, '-e', `inject=fsync,fdatasync:${fault}`]
}

/** An unreadable disk counts as a loss. */
function describeLoss(acknowledged: Acknowledged, dataDir: string): string {
  try {
    const { lost } = findLostRecords(acknowledged, dataDir)
    return lost.length === 0 ? 'none lost' : `${lost.length} lost`
  } catch (error) {
    return `all lost: ${(error as Error).message}`
  }
}

/** Expects all acknowledged records to be stored, and returns their number. */
function expectAllStored(acknowledged: Acknowledged, dataDir: string): number {
  expect(findLostRecords(acknowledged, dataDir)).toEqual({
    lost: [],
    rowsWithoutFile: [],
    integrity: ['ok'],
  })
  return Object.values(acknowledged).flat().length
}

/** Runs the server under `wrapper` on a new disk, then drops all data that was not synced. */
async function cutPower(homeport: Homeport, name: string, wrapper: string[]) {
  const [image, mounted] = [join(FOLDER, 'image'), join(FOLDER, 'mounted')]
  Bun.spawnSync(['umount', mounted])
  await Bun.$`cp --sparse=always ${disk} ${image} && mount -o loop ${image} ${mounted}`.quiet()
  const server = await homeport.start({ ...ENV, DATA_DIR: join(mounted, 'data') }, wrapper)
  const { accessToken } = await register(server, 'ann@example.com')
  const load = startWrites(server, accessToken, name)
  await Bun.sleep(100 + Math.random() * 400)
  const pids = wrapper.length === 0 ? [server.process.pid] : childrenOf(server.process.pid)
  for (const pid of pids) process.kill(pid, 'SIGSTOP')
  load.stop()
  // The copy lacks what the file system has not yet written.
  await Bun.$`cp --sparse=always ${image} ${image}.cut`.quiet()
  for (const pid of pids) process.kill(pid, 'SIGKILL')
  await server.stop('SIGKILL')
  await load.done
  await unmount(mounted)
  await Bun.$`mv ${image}.cut ${image} && mount -o loop ${image} ${mounted}`.quiet()
  return { acknowledged: load.acknowledged, dataDir: join(mounted, 'data') }
}

/** The process that copies the log ends a moment after the server. */
async function unmount(folder: string) {
  for (let tries = 0; tries < 100; tries++) {
    if ((await Bun.$`umount ${folder}`.quiet().nothrow()).exitCode === 0) return
    await Bun.sleep(50)
  }
  throw new Error(`${folder} is still in use`)
}

function childrenOf(pid: number): number[] {
  const { stdout } = Bun.spawnSync(['pgrep', '-P', String(pid)])
  return stdout.toString().trim().split('\n').map(Number)
}

/** An empty file system in a file, or null if it cannot be mounted. */
async function makeDisk(): Promise<string | null> {
  const path = join(FOLDER, 'empty')
  await mkdir(join(FOLDER, 'mounted'))
  const made =
    await Bun.$`truncate -s 128M ${path} && mkfs.ext4 -q ${path} && mount -o loop ${path} ${FOLDER}/mounted && umount ${FOLDER}/mounted`
      .quiet()
      .nothrow()
  return made.exitCode === 0 ? path : null
}

type ControlGroup = { folder: string; limit: string; usage: string }

/** A control group with a memory limit, in either version of the kernel's interface. */
async function makeGroup(): Promise<ControlGroup | null> {
  for (const [parent, limit, usage] of [
    ['/sys/fs/cgroup/memory', 'memory.limit_in_bytes', 'memory.usage_in_bytes'],
    ['/sys/fs/cgroup', 'memory.max', 'memory.current'],
  ] as const) {
    const folder = join(parent, `homeport-${process.pid}`)
    await mkdir(folder).catch(() => {})
    if (existsSync(join(folder, limit))) return { folder, limit, usage }
  }
  return null
}
