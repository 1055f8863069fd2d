import type { Feature, Platform } from '../../platform/feature.ts'
import type { PublicationsDb } from '../../platform/publications/schema.ts'
import { publicationViews } from '../../platform/publications/views.ts'
import { contentActions } from './actions.ts'
import { contentCommands } from './commands.ts'
import { ContentVersions, FaqImports, FaqReply } from './model.ts'
import { contentRoutes } from './routes.ts'
import { type ContentDb, contentTables } from './schema.ts'
import { createContent } from './service.ts'

export const contentFeature = {
  tables: contentTables,
  commands: contentCommands,
  actions: contentActions,
  clientModels: { ContentVersions, Faq: FaqReply },
  create(platform: Platform<ContentDb & PublicationsDb & { isShared: boolean }>) {
    const content = createContent(platform)
    return {
      services: { content },
      routes: () => contentRoutes({ content }),
      consoleRoutes: () => publicationViews('faqs', FaqImports.items, content),
    }
  },
} satisfies Feature
