import type { RouteCase } from './route-case.ts'

/** Every route of the API. A feature's cases are in `routes.cases.ts` beside its tests. */
export const routes: RouteCase[] = await collectCases()

async function collectCases() {
  const found = new Bun.Glob('../features/*/routes.cases.ts').scanSync(import.meta.dir)
  const modules = await Promise.all([...found].toSorted().map((path) => import(`./${path}`)))
  return modules.flatMap((module: { routes: RouteCase[] }) => module.routes)
}
