import type { Static } from 'elysia'
import { declaredClientModels } from './declarations.ts'
import { connectedModels } from './features.ts'

/** The models of the client package. */
export const clientModels = { ...declaredClientModels, ...connectedModels }

export type ClientModels = {
  [Name in keyof typeof clientModels]: Static<(typeof clientModels)[Name]>
}
