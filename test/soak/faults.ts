import { rm, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import type { Billing } from './billing.ts'
import type { World } from './world.ts'

/** A fault to inject. `run` ends once the fault is over, and throws if the server misbehaves. */
export type Fault = {
  name: string
  /** Ends the server's process; another one starts. */
  endsProcess?: true
  run: () => Promise<void>
}

/** How long a fault lasts, in ms. */
const DURATION = 5_000
const LONG_DURATION = 15_000

/** All faults that can be injected on this machine, and why the others cannot. */
export function faultsOf(world: World, billing: Billing) {
  const { engine, disk, clock, postgres } = world
  let isAhead = false
  const faults: Fault[] = [
    { name: 'kill -9', endsProcess: true, run: kill },
    { name: 'restart', endsProcess: true, run: restart },
    { name: 'migration to the same version', endsProcess: true, run: migrate },
    { name: 'process paused for 5 s', run: pause },
    { name: 'image worker killed', run: killImageWorker },
    { name: 'database locked by another program', run: () => world.lock(DURATION) },
    { name: 'backup', run: backUp },
    { name: 'external providers down', run: takeProvidersDown },
  ]
  const missing: string[] = []
  if (disk) faults.push({ name: 'full disk', run: () => fillDisk(disk) })
  else missing.push('full disk: only root can mount a separate file system')
  if (clock) faults.push({ name: 'clock jump', run: jumpClock })
  else missing.push("clock jump: Debian's libfaketime is not installed")
  if (postgres) {
    faults.push(
      { name: 'database connections killed', run: killBackends },
      { name: 'PostgreSQL restarted', run: () => restartPostgres('SIGINT') },
      { name: 'PostgreSQL crashed', run: () => restartPostgres('SIGQUIT') },
      { name: 'PostgreSQL unresponsive for 5 s', run: freezePostgres },
    )
  }
  return { faults, missing }

  async function kill() {
    await world.stop('SIGKILL')
    await world.start()
  }

  async function restart() {
    expectZero(await world.stop('SIGTERM'), 'the server')
    await world.start()
  }

  async function migrate() {
    expectZero(await world.stop('SIGTERM'), 'the server')
    await runOrThrow('migrate')
    await world.start()
  }

  async function pause() {
    process.kill(world.pid(), 'SIGSTOP')
    await Bun.sleep(DURATION)
    process.kill(world.pid(), 'SIGCONT')
  }

  /** Repeatedly, because the next image starts a new worker. */
  async function killImageWorker() {
    for (const start = Date.now(); Date.now() - start < DURATION; await Bun.sleep(50)) {
      Bun.spawnSync(['pkill', '-KILL', '-P', String(world.pid()), '-f', 'image-worker'])
    }
  }

  /** A backup under load, verified completely. */
  async function backUp() {
    const path = join(world.folder, 'backup.tar')
    await runOrThrow('backup', '--out', path)
    await runOrThrow('restore', path, '--verify')
    await rm(path)
  }

  /** Rates stay unchanged; events wait at the billing provider and arrive all at once. */
  async function takeProvidersDown() {
    world.rates.isDown = true
    billing.goDown()
    const { exitCode } = await world.run(['rates', 'refresh'])
    await Bun.sleep(LONG_DURATION)
    world.rates.isDown = false
    billing.goUp()
    if (exitCode !== 1) throw new Error(`rates refresh ended with ${exitCode}, not 1`)
    await runOrThrow('rates', 'refresh')
  }

  async function fillDisk(path: string) {
    const ballast = join(path, 'ballast')
    const { bavail, bsize } = await statfs(path)
    await Bun.$`fallocate -l ${bavail * bsize - bsize * 64} ${ballast}`.nothrow().quiet()
    await Bun.$`dd if=/dev/zero of=${ballast}.rest bs=4096`.nothrow().quiet()
    await Bun.sleep(DURATION)
    await rm(ballast, { force: true })
    await rm(`${ballast}.rest`, { force: true })
  }

  /** Alternately two hours ahead and two hours back. */
  async function jumpClock() {
    isAhead = !isAhead
    await clock?.set(isAhead ? '+2h' : '-2h')
    await Bun.sleep(LONG_DURATION)
    await clock?.set('+0')
  }

  async function killBackends() {
    for (const start = Date.now(); Date.now() - start < DURATION; await Bun.sleep(700)) {
      await postgres?.query(
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()',
      )
    }
  }

  async function restartPostgres(signal: 'SIGINT' | 'SIGQUIT') {
    await postgres?.stop(signal)
    await Bun.sleep(2_000)
    await postgres?.start()
  }

  async function freezePostgres() {
    await postgres?.signalAll('SIGSTOP')
    await Bun.sleep(DURATION)
    await postgres?.signalAll('SIGCONT')
  }

  async function runOrThrow(...args: string[]) {
    const { exitCode, stderr } = await world.run(args)
    if (exitCode !== 0) throw new Error(`homeport ${args.join(' ')} on ${engine}: ${stderr.trim()}`)
  }
}

function expectZero(exitCode: number, program: string) {
  if (exitCode !== 0) throw new Error(`${program} ended with ${exitCode}`)
}
