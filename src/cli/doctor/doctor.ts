import { EXIT } from '../../lib/command.ts'
import type { LocalCommand } from '../command.ts'
import { requireData } from '../data/data-directory.ts'
import { effectiveConfig } from '../effective-config.ts'
import { writeOutput } from '../terminal.ts'
import { describeForOperator } from '../unavailable.ts'
import { type Check, type Finding, failed, toReason } from './check.ts'
import { localChecks } from './local-checks.ts'
import { networkChecks } from './network-checks.ts'
import { readServerState } from './server-state.ts'

const SYMBOLS = { ok: '✓', warning: '!', failed: '✗' } as const

export const doctor: LocalCommand = {
  name: 'doctor',
  summary:
    'Check disk, database, secrets, mail, DNS and certificate, and suggest fixes; exit 1 on failure',
  options: [['--data-dir <path>', 'overrides DATA_DIR']],
  run: async (loadConfig, { json }) => {
    const config = await effectiveConfig(loadConfig())
    const state = await readServerState(config)
    // A server may be running although its data was removed.
    if (state === null) await requireData(config)
    const findings: (Finding & { name: string })[] = []
    for (const check of [...localChecks(config, state), ...networkChecks(config, state)]) {
      const found = { name: check.name, ...(await examine(check)) }
      findings.push(found)
      if (!json) writeOutput(describe(found))
    }
    if (json) writeOutput(JSON.stringify(findings))
    return findings.some(({ state }) => state === 'failed') ? EXIT.failed : EXIT.done
  },
}

async function examine({ run }: Check): Promise<Finding> {
  try {
    return await run()
  } catch (error) {
    return failed(`could not be checked (${toReason(error)})`, describeForOperator(error as Error))
  }
}

function describe({ name, ...finding }: Finding & { name: string }): string {
  const line = `${SYMBOLS[finding.state]} ${name.padEnd(13)} ${finding.detail}`
  return finding.state === 'ok' ? line : `${line}\n  ${' '.repeat(13)} ${finding.advice}`
}
