import { Elysia, t } from 'elysia'
import { allow, CONSOLE_API } from '../../../platform/http/console-guard.ts'
import { closedObject, data, literalUnion } from '../../../platform/http/replies/envelope.ts'
import { ENVIRONMENTS } from '../environment.ts'
import type { Figures } from './figures.ts'

const FiguresQuery = closedObject({
  month: t.Optional(t.String({ pattern: '^20\\d\\d-(0[1-9]|1[0-2])$' })),
  currency: t.Optional(t.String({ pattern: '^[A-Za-z]{3}$' })),
  environment: t.Optional(literalUnion(ENVIRONMENTS, { description: 'production by default' })),
})

export function businessConsole({ figures }: { figures: Figures }) {
  return new Elysia({ name: 'business-console', prefix: CONSOLE_API }).get(
    '/business',
    async ({ query }) => data(await figures.read(query)),
    { query: FiguresQuery, ...allow('reader') },
  )
}
