import type { FieldNullability, InputFieldMap, SchemaTypes, TypeParam } from '@pothos/core'

import type { Access } from '../core/access.ts'
import type { ErrorCode } from '../core/error-table.ts'
import type { ClientAccess } from './access.ts'

/** The rules of a root field. */
interface Rules {
  access: Access
  /** Whether a client token may ask it too: not without this. */
  client?: ClientAccess
  /** Error codes beyond those of every request of its kind, for the reference. */
  throws?: readonly ErrorCode[]
}

// The parameters must be those of the declarations that these merge with.
declare global {
  export namespace PothosSchemaTypes {
    interface Plugins<Types extends SchemaTypes> {
      access: import('@pothos/core').BasePlugin<Types>
      budget: import('@pothos/core').BasePlugin<Types>
      outcome: import('@pothos/core').BasePlugin<Types>
    }
    interface QueryFieldOptions<
      Types extends SchemaTypes,
      Type extends TypeParam<Types>,
      Nullable extends FieldNullability<Type>,
      Args extends InputFieldMap,
      ResolveReturnShape,
    > extends Rules {}
    interface MutationFieldOptions<
      Types extends SchemaTypes,
      Type extends TypeParam<Types>,
      Nullable extends FieldNullability<Type>,
      Args extends InputFieldMap,
      ResolveReturnShape,
    > extends Rules {}
    interface SubscriptionFieldOptions<
      Types extends SchemaTypes,
      Type extends TypeParam<Types>,
      Nullable extends FieldNullability<Type>,
      Args extends InputFieldMap,
      ResolveShape,
      ResolveReturnShape,
    > extends Rules {}
  }
}
