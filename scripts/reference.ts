import { join } from 'node:path'
import { commands } from '../src/cli/commands.ts'
import { describeDefault, listDocumented, toSentence } from '../src/config/reference.ts'
import type { AnyAction } from '../src/platform/actions/action.ts'
import { toCommands } from '../src/platform/actions/command-line.ts'
import { type Condition, findLimit } from '../src/platform/conditions/condition.ts'
import { actions, conditions, metrics } from '../src/server/declarations.ts'
import { updateMap } from './architecture-map.ts'
import { listModels } from './client-models.ts'
import { describeOperations } from './client-operations.ts'
import { nativeModels } from './native-models.ts'
import { ROOT } from './root.ts'

/** A server cannot tell that it is down, nor which versions others run. */
const PROMETHEUS_ONLY = `# Alert rules for Prometheus, each with advice.
groups:
  - name: homeport
    rules:
      - alert: HomeportDown
        expr: 'up{job="homeport"} == 0'
        for: 2m
        labels: { severity: page }
        annotations:
          summary: "Homeport is not responding"
          description: 'See "systemctl status homeport" and "journalctl -u homeport". The billing provider stops retrying after 155 minutes.'
      - alert: HomeportVersionsDiffer
        expr: "count(count by (version) (homeport_build_info)) > 1"
        for: 1h
        labels: { severity: warn }
        annotations:
          summary: "Instances have been running different versions for an hour"`

/** The generated files, by path. */
export async function generateFiles(): Promise<Record<string, string>> {
  const [introduction = ''] = (await readPage('docs/settings.md')).split('\n## ')
  return {
    'docs/architecture.md': updateMap(await readPage('docs/architecture.md')),
    'docs/settings.md': settingsPage(introduction),
    'docs/actions.md': actionsPage(),
    'docs/commands.md': await commandsPage(),
    '.env.example': exampleEnvironment(),
    'docs/monitoring.md': await monitoringPage(),
    'docs/monitoring/alerts.yml': `${[PROMETHEUS_ONLY, ...Object.entries(conditions).map(toPrometheusAlert)].join('\n')}\n`,
    'src/client/models.ts': listModels(),
    ...nativeModels(),
    'src/client/testing/operations.json': await describeOperations(),
  }
}

function readPage(path: string): Promise<string> {
  return Bun.file(join(ROOT, path)).text()
}

/** The reference of all settings as a page of the documentation; `introduction` comes before the tables. */
function settingsPage(introduction: string): string {
  const sections = listDocumented().map(([subject, settings]) => {
    const rows = settings.map((setting) => {
      const more = setting.page ? ` ([more](${setting.page}))` : ''
      return `| \`${setting.name}\` | ${describeDefault(setting)} | ${setting.meaning}${more} |`
    })
    return [`## ${subject}`, '', '| Variable | Default | Meaning |', '| --- | --- | --- |', ...rows]
  })
  return `${[introduction.trim(), ...sections.map((lines) => lines.join('\n'))].join('\n\n')}\n`
}

/** The page that lists all operator actions and how to run each. */
function actionsPage(): string {
  const rows = actions
    .toSorted((one, other) => one.name.localeCompare(other.name))
    .map((action) => {
      const cells = [`\`${action.name}\``, action.summary, ...callsOf(action), rightsOf(action)]
      return `| ${cells.join(' | ')} |`
    })
  return `# Operator actions

Each action has one name in the audit log, whether it is run as a command, in the console, or through the [server API](server-api.md) with an API key that has
the scope. "Proof" means a passkey or a code used in the last ten minutes. Commands run as the user that runs the server and may perform every action.

| Action | | Command | Server API | In the console |
| --- | --- | --- | --- | --- |
${rows.join('\n')}
`
}

/** The page with the table of all commands, in the order of the help. */
async function commandsPage(): Promise<string> {
  const page = await readPage('docs/commands.md')
  const rows = commands.map(({ name, arguments: words = '', summary }) => {
    return `| \`${`${name} ${words}`.trim()}\` | ${summary} |\n`
  })
  return page.replace(
    /\| Command \| \|\n(\|.*\n)+/,
    () => `| Command | |\n| --- | --- |\n${rows.join('')}`,
  )
}

function callsOf(action: AnyAction): string[] {
  const [command] = toCommands([action])
  const { server } = action
  const words = command && `${command.name} ${command.arguments ?? ''}`.trim()
  return [
    words ? `\`${words}\`` : '',
    server ? `\`${server.method.toUpperCase()} ${server.path}\` (${server.scope})` : '',
  ]
}

function rightsOf({ console: path, role, proof }: AnyAction): string {
  if (path === null) return ''
  return `${role}s${proof ? ', with proof' : ''}`
}

/** An example .env file with every setting commented out. */
function exampleEnvironment(): string {
  const sections = listDocumented().map(([subject, settings]) => [
    `# ${subject}`,
    ...settings.flatMap((setting) => [`# ${toSentence(setting)}`, `# ${setting.name}=`]),
  ])
  const lines = ['# Copy to .env and set what you need. See docs/settings.md for details.']
  return `${[lines, ...sections].map((section) => section.join('\n')).join('\n\n')}\n`
}

function conditionRows(): string[] {
  return Object.entries(conditions).map(([name, condition]) => {
    const { title, limit, minutes = 1, severity } = condition
    const sign = 'above' in limit ? '>' : '<'
    return `| \`${name}\` | ${title} | ${sign} ${findLimit(condition)} | ${minutes} | ${severity} |\n`
  })
}

/** The page with the tables of all conditions and metrics. */
async function monitoringPage(): Promise<string> {
  const page = await readPage('docs/monitoring.md')
  const rows = Object.entries(metrics).map(([name, { help }]) => `| \`${name}\` | ${help} |\n`)
  const table = `| Metric | Meaning |\n| --- | --- |\n${rows.join('')}`
  const heading = `| Condition | Meaning | Limit | Minutes | Severity |\n| --- | --- | --- | --- | --- |\n`
  return page
    .replace(/\| Metric \| Meaning \|\n(\|.*\n)+/, () => table)
    .replace(/\| Condition \|.*\n(\|.*\n)+/, () => heading + conditionRows().join(''))
}

/** The Prometheus alert for a condition, in YAML. */
function toPrometheusAlert([name, condition]: [string, Condition]): string {
  const { title, advice, severity, minutes, measure, limit } = condition
  const comparison = `${'above' in limit ? '>' : '<'} ${findLimit(condition)}`
  const pascalCase = name.replace(/(^|-)(\w)/g, (_, _dash, letter) => letter.toUpperCase())
  return `      - alert: Homeport${pascalCase}
        expr: ${quote(measure.promql(comparison))}
${minutes === undefined ? '' : `        for: ${minutes}m\n`}        labels: { severity: ${severity} }
        annotations:
          summary: ${quote(title)}
          description: ${quote(advice)}`
}

function quote(text: string): string {
  return text.includes('"') ? `'${text.replaceAll("'", "''")}'` : `"${text}"`
}

if (import.meta.main) {
  for (const [path, text] of Object.entries(await generateFiles())) {
    await Bun.write(join(ROOT, path), text)
    console.log(`Wrote ${path}.`)
  }
}
