import { expect, test } from 'bun:test'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { installService, removeService } from '../../src/cli/service/service.ts'

test('an install without systemd is refused before anything is changed', async () => {
  await using root = await fakeRoot()
  const commands: string[] = []
  const run = async (...command: string[]) => void commands.push(command.join(' '))
  const installing = installService(root.paths, run)
  await expect(installing).rejects.toThrow('This machine does not run systemd')
  expect([commands, await readdir(root.folder)]).toEqual([[], []])
})

test('an uninstall removes the files even if systemctl fails, and reports its errors', async () => {
  await using root = await fakeRoot()
  const { unit, sysctl, executable, environment, home } = root.paths
  await mkdir(home)
  for (const path of [unit, sysctl, executable, `${executable}.previous`, environment])
    await writeFile(path, '')
  const failing = (...command: string[]) => Promise.reject(new Error(`${command[1]} failed`))
  expect(await removeService(root.paths, failing)).toEqual([
    'disable failed',
    'daemon-reload failed',
  ])
  expect((await readdir(root.folder)).sort()).toEqual(['environment', 'home'])
})

async function fakeRoot() {
  const folder = await mkdtemp(join(tmpdir(), 'homeport-service-'))
  const place = (name: string) => join(folder, name)
  const paths = {
    executable: place('executable'),
    environment: place('environment'),
    unit: place('unit'),
    sysctl: place('sysctl'),
    migration: place('migration'),
    home: place('home'),
    systemd: place('systemd'),
  }
  const dispose = () => rm(folder, { recursive: true, force: true })
  return { folder, paths, [Symbol.asyncDispose]: dispose }
}
