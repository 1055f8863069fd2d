import { isRequest, type Tallies } from '../platform/metrics/tallies.ts'

type Figures = Awaited<ReturnType<Tallies['list']>>['figures'][number]

type Endpoint = ReturnType<typeof toEndpoint>

/** The name that all requests to unknown paths share. */
const UNKNOWN_PATHS = 'none'
const CONSOLE = /^\w+ \/console\b/

/** Slowest first. Response times are in ms. */
export function groupByEndpoint(figures: Figures[]) {
  return figures
    .filter(({ name }) => isRequest(name))
    .map(toEndpoint)
    .toSorted((one, other) => other.p99 - one.p99 || other.count - one.count)
}

/** Excludes the console, whose requests may take long, and unknown paths. */
export function isCalledByApps({ name }: Endpoint): boolean {
  return name !== UNKNOWN_PATHS && !isConsole(name)
}

export function isConsole(name: string): boolean {
  return CONSOLE.test(name)
}

/** Selects the figures of one kind, and removes `kind` from their names. */
export function filterByKind(figures: Figures[], kind: 'webhook' | 'billing') {
  return figures.flatMap(({ name, ...rest }) =>
    name.startsWith(`${kind} `) ? [{ name: name.slice(kind.length + 1), ...rest }] : [],
  )
}

function toEndpoint({ name, count, soft, hard, p50, p99 }: Figures) {
  return { name, count, p50, p99, refused: soft, errors: hard, isConsole: isConsole(name) }
}
