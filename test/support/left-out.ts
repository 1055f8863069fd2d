import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** The features that `docs/leaving-out.md` lists. */
const OPTIONAL = ['alerts', 'data', 'usage', 'users/import', 'webhooks']

/** Whether this is a fork without one of them: only then may what such a feature had be missing. */
export const isFeatureLeftOut = OPTIONAL.some(
  (feature) => !existsSync(join(import.meta.dir, '../../src/features', feature)),
)
