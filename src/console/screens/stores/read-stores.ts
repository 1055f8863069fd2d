import type { Stores as StoresService } from '../../../features/stores/stores.ts'
import { type ReplyOf, read } from '../../api.ts'

export type Stores = ReplyOf<StoresService['status']['read']>

export const readStores = () => read<Stores>('stores')
