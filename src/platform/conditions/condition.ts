import type { Measure } from './measure.ts'

/** Something that operators should know about while it holds. Its names are also those of the alerts of Prometheus. */
export type Condition = {
  name: string
  /** What is wrong, as the subject of an e-mail. */
  title: string
  /** What to do. */
  advice: string
  /** `page`: act at once. */
  severity: 'page' | 'warn'
  /** How long it must hold before it is reported. */
  minutes: number
  measure: Measure
  /** It holds while the measured value is beyond this; operators may set another limit. */
  limit: { above: number } | { below: number }
  /** The unit of the value and the limit; empty for a state. */
  unit: string
}

/** The default limit. */
export function findLimit({ limit }: Condition): number {
  return 'above' in limit ? limit.above : limit.below
}

/** Whether a condition holds with a value: null where it does not apply. */
export function holdsWith({ limit }: Condition, value: number | null, limitNow: number): boolean {
  return value !== null && ('above' in limit ? value > limitNow : value < limitNow)
}

/** The alert of Prometheus for a condition, in YAML. */
export function toPrometheusAlert(condition: Condition): string {
  const { name, title, advice, severity, minutes, measure, limit } = condition
  const beyond = `${'above' in limit ? '>' : '<'} ${findLimit(condition)}`
  const pascalCase = name.replace(/(^|-)(\w)/g, (_, _dash, letter) => letter.toUpperCase())
  return `      - alert: Homeport${pascalCase}
        expr: ${quote(measure.promql(beyond))}
${minutes === 0 ? '' : `        for: ${minutes}m\n`}        labels: { severity: ${severity} }
        annotations:
          summary: ${quote(title)}
          description: ${quote(advice)}`
}

function quote(text: string): string {
  return text.includes('"') ? `'${text.replaceAll("'", "''")}'` : `"${text}"`
}
