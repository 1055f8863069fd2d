import type { Feature, Platform, RouteContext } from '../../platform/feature.ts'
import { partOfExport } from '../../platform/http/replies/envelope.ts'
import { gauge } from '../../platform/metrics/metrics.ts'
import { changesExport } from './model.ts'
import { changesRoutes } from './routes.ts'
import { type ChangesDb, changeTables } from './schema.ts'
import { type Changes, createChanges } from './service.ts'
import { changesGerman } from './translations.ts'

type Needs = {
  activeSessions: (ids: string[]) => Promise<string[]>
}

export const changesFeature = {
  tables: changeTables,
  commands: [],
  metrics: {
    homeport_open_streams: gauge(
      'Apps connected to the stream of changes; each takes a file descriptor',
      ({ changes }: { changes: Changes }) => changes.countStreams(),
    ),
  },
  translations: { de: changesGerman },
  exportMembers: changesExport,
  clientModels: { ChangesExport: partOfExport(changesExport, 'the latest change of each kind') },
  create(platform: Platform<ChangesDb & { isShared: boolean }>, needs: Needs) {
    const changes = createChanges({ ...platform, ...needs })
    return {
      services: { changes },
      routes: ({ signedIn }: RouteContext) => changesRoutes({ changes, signedIn }),
      userData: {
        userChanges: {
          deletion: changes.endStreams,
          export: { changes: changes.list },
          merging: changes.moveAll,
        },
      },
    }
  },
} satisfies Feature
