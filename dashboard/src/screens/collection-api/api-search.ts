import { type Language, languageNames, type OperationName, operationNames } from './operations.ts';

/** What the address of this screen holds. */
export interface ApiSearch {
  readonly op?: OperationName;
  readonly lang?: Language;
}

export function decodeApiSearch({ op, lang }: Readonly<Record<string, unknown>>): ApiSearch {
  const operation = operationNames.find((name) => name === op);
  const language = languageNames.find((name) => name === lang);
  return {
    ...(operation !== undefined && { op: operation }),
    ...(language !== undefined && { lang: language }),
  };
}
