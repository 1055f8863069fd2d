import { join } from 'node:path'
import { exampleEnvironment, settingsPage } from '../src/config/reference.ts'
import { toPrometheusAlert } from '../src/platform/conditions/condition.ts'
import { conditions } from '../src/server/features.ts'
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
          summary: "Homeport does not answer"
          description: 'See "systemctl status homeport" and "journalctl -u homeport". The billing provider stops retrying after 155 minutes.'
      - alert: HomeportVersionsDiffer
        expr: "count(count by (version) (homeport_build_info)) > 1"
        for: 1h
        labels: { severity: warn }
        annotations:
          summary: "Instances have been running different versions for an hour"`

/** The generated files, by path. */
export async function references(): Promise<Record<string, string>> {
  const page = await Bun.file(join(ROOT, 'docs/settings.md')).text()
  const [introduction = ''] = page.split('\n## ')
  return {
    'docs/settings.md': settingsPage(introduction),
    '.env.example': exampleEnvironment(),
    'docs/monitoring/alerts.yml': `${[PROMETHEUS_ONLY, ...conditions.map(toPrometheusAlert)].join('\n')}\n`,
  }
}

if (import.meta.main) {
  for (const [path, text] of Object.entries(await references())) {
    await Bun.write(join(ROOT, path), text)
    console.log(`${path} is written.`)
  }
}
