import { expect, test } from 'bun:test'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { installService, removeService } from '../../src/cli/service/service.ts'

test('an install where systemd does not run is refused before anything is changed', async () => {
  await using root = await fakeRoot()
  const ran: string[] = []
  const run = async (...command: string[]) => void ran.push(command.join(' '))
  const installing = installService(root.places, run)
  await expect(installing).rejects.toThrow('This machine does not run systemd')
  expect([ran, await readdir(root.folder)]).toEqual([[], []])
})

test('an uninstall removes the files though systemctl fails, and says what it said', async () => {
  await using root = await fakeRoot()
  const { unit, sysctl, executable, environment, home } = root.places
  await mkdir(home)
  for (const path of [unit, sysctl, executable, `${executable}.previous`, environment])
    await writeFile(path, '')
  const failing = (...command: string[]) => Promise.reject(new Error(`${command[1]} failed`))
  expect(await removeService(root.places, failing)).toEqual([
    'disable failed',
    'daemon-reload failed',
  ])
  expect((await readdir(root.folder)).sort()).toEqual(['environment', 'home'])
})

async function fakeRoot() {
  const folder = await mkdtemp(join(tmpdir(), 'homeport-service-'))
  const place = (name: string) => join(folder, name)
  const places = {
    executable: place('executable'),
    environment: place('environment'),
    unit: place('unit'),
    sysctl: place('sysctl'),
    home: place('home'),
    systemd: place('systemd'),
  }
  const dispose = () => rm(folder, { recursive: true, force: true })
  return { folder, places, [Symbol.asyncDispose]: dispose }
}
