import { beforeAll, expect } from 'bun:test'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { onSqlite } from '../../support/databases.ts'
import { buildExecutable, freePort, installExecutable } from '../../support/executable.ts'

const ROOT = join(import.meta.dir, '..', '..', '..')
const WALK = /```sh walk\n(.*?)```/s

beforeAll(buildExecutable, 300_000)

onSqlite('it starts a server in an empty folder')(
  'the ten commands of the manual lead from the settings to a paid user',
  async () => {
    await using homeport = await installExecutable()
    const [port, storePort] = [freePort(), freePort()]
    const manual = await Bun.file(join(ROOT, 'docs', 'app-store.md')).text()
    const commands = (WALK.exec(manual)?.[1] ?? '')
      .replaceAll('"$HOMEPORT/dist/homeport"', join(homeport.folder, 'homeport'))
      .replaceAll(':3000', `:${port}`)
      .replaceAll(':4920', `:${storePort}`)
    const script = `trap 'kill $(jobs -p)' EXIT\n${commands}`
    const { stdout, stderr } = Bun.spawnSync(['bash', '-c', script], {
      cwd: homeport.folder,
      env: {
        PATH: `${join(process.execPath, '..')}:${process.env['PATH']}`,
        HOMEPORT: ROOT,
        HOMEPORT_URL: `http://localhost:${port}`,
        PORT: String(port),
        APP_STORE_PORT: String(storePort),
        DATA_DIR: join(homeport.folder, 'data'),
      },
    })
    await rm(join(ROOT, 'app-store.env'), { force: true })
    const text = `${stdout}${stderr}`
    expect(text.match(/^ok\t/gm)).toHaveLength(5)
    expect(text).toContain('"outcome":"bound"')
    expect(text).toMatch(/"entitlements":\[\{"id":"\w+","active":true/)
    expect(text).toMatch(/\tproduction\tprod_example_pro\tactive\t/)
    expect(text).toContain('APP_STORE_ROOT_FILE is set')
  },
  60_000,
)
