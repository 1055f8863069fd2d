import type { Tx } from '../../platform/db/db.ts'
import type { Feature, Platform, RouteContext, ServerContext } from '../../platform/feature.ts'
import { partOfExport } from '../../platform/http/replies/envelope.ts'
import { byForeignKey, type ExistingUsers } from '../../platform/user-table.ts'
import { dataConsole } from './console.ts'
import { DataReply, dataExport, dataTags, serverDataTags } from './model.ts'
import { dataRoutes } from './routes.ts'
import { type DataDb, dataTables } from './schema.ts'
import { serverDataRoutes } from './server/routes.ts'
import { createData } from './service.ts'
import { dataGerman } from './translations.ts'

type Needs = {
  existingUsers: ExistingUsers
  recordChange: (tx: Tx, userId: string) => Promise<void>
}

export const dataFeature = {
  tables: dataTables,
  commands: [],
  translations: { de: dataGerman },
  tags: dataTags,
  serverTags: serverDataTags,
  exportMembers: dataExport,
  clientModels: { DataExport: partOfExport(dataExport, 'the documents'), UserData: DataReply },
  create(platform: Platform<DataDb>, needs: Needs) {
    const documents = createData({ ...platform, ...needs })
    return {
      services: { documents },
      routes: ({ signedIn }: RouteContext) => dataRoutes({ documents, signedIn }),
      serverRoutes: ({ scopeGuard }: ServerContext) => serverDataRoutes({ documents, scopeGuard }),
      consoleRoutes: () => dataConsole({ documents }),
      userData: {
        userDocuments: {
          deletion: byForeignKey,
          export: { data: documents.list },
          merging: documents.moveAll,
        },
      },
    }
  },
} satisfies Feature
