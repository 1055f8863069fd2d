import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { buildClient } from '../../scripts/build-client.ts'
import { packPackage } from '../../scripts/client-archive.ts'

/** Builds the client package and installs it into an app as npm would. Returns the folder of the package. */
export async function installClient(app: string): Promise<string> {
  const packages = join(app, 'node_modules')
  const folder = join(packages, 'homeport-client')
  await mkdir(packages, { recursive: true })
  await rm(folder, { recursive: true, force: true })
  await new Bun.Archive(await packPackage(await buildClient())).extract(packages)
  await rename(join(packages, 'package'), folder)
  return folder
}
