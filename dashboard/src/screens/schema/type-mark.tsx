import type { Field } from '../../api/client.ts';
import { TypeIcon } from '../../parts/type-icon.tsx';
import { newField } from './new-field.ts';

/** Stands for a type of which there is no field yet. */
export function TypeMark({ type }: { readonly type: Field['type'] }) {
  return <TypeIcon field={newField(type, type)} size={15} />;
}
