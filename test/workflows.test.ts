import { expect, test } from 'bun:test'
import { accessSync, constants, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { scripts } from '../package.json' with { type: 'json' }

const ROOT = join(import.meta.dir, '..')
const FOLDER = join(ROOT, '.github', 'workflows')

type Workflow = {
  jobs: Record<string, { uses?: string; steps?: { uses?: string; run?: string }[] }>
}

test.each(readdirSync(FOLDER))(
  '%s runs scripts that exist and actions pinned to an exact version',
  (name) => {
    const text = readFileSync(join(FOLDER, name), 'utf8')
    const jobs = Object.values((Bun.YAML.parse(text) as Workflow).jobs)
    const steps = jobs.flatMap((job) => [job, ...(job.steps ?? [])])
    const commands = steps
      .flatMap((step) => ('run' in step && step.run ? [step.run] : []))
      .join('\n')
    for (const [, script = ''] of commands.matchAll(/\bbun(?:@[\d.]+)? run (\S+)/g))
      expect(Object.keys(scripts)).toContain(script)
    for (const [path] of commands.matchAll(/(?<=^|\s)\.ci\/\S+/gm))
      accessSync(join(ROOT, path), constants.X_OK)
    for (const uses of steps.flatMap((step) => step.uses ?? [])) {
      if (uses.startsWith('./')) accessSync(join(ROOT, uses))
      else expect(uses).toMatch(/@v\d+\.\d+\.\d+$/)
    }
    const [head = ''] = text.split('\nname:')
    for (const [, secret = ''] of text.matchAll(/secrets\.(\w+)/g)) expect(head).toContain(secret)
  },
)
