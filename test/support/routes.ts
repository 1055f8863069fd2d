import type { RouteCase } from './route-case.ts'

type CaseModule = { routes: RouteCase[]; environment?: Record<string, string> }

const modules = await loadCases()

/** Every route of the API. The cases of a feature are in `*.cases.ts` beside its tests. */
export const routes = modules.flatMap((module) => module.routes)

/** The configuration that the route cases need. */
export const routeEnvironment: Record<string, string> = Object.assign(
  {},
  ...modules.map(({ environment }) => environment),
)

async function loadCases(): Promise<CaseModule[]> {
  const found = new Bun.Glob('../features/*/*.cases.ts').scanSync(import.meta.dir)
  return Promise.all([...found].toSorted().map((path) => import(`./${path}`)))
}
