import { searchDecoder } from '../../parts/search-decoder.ts';
import { languageNames, operationNames } from './operations.ts';

/** What the address of this screen holds. */
export const decodeApiSearch = searchDecoder({ op: operationNames, lang: languageNames });

export type ApiSearch = ReturnType<typeof decodeApiSearch>;
