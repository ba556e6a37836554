import type { Endpoint } from '../../api/events.ts';
import type { Choice } from '../../parts/form/field.ts';

/** Endpoints as a form offers them: by their descriptions, with where they are. */
export function endpointChoices(
  endpoints: readonly Pick<Endpoint, 'id' | 'url' | 'description'>[],
): readonly Choice[] {
  return endpoints.map(({ id, url, description }) => ({
    value: id,
    label: description || url,
    ...(description !== '' && { help: url }),
  }));
}
