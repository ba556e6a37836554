import { isJsonObject, type JsonObject, ownMember } from '../base/json.ts';
import type { Tool, ToolValue } from './tools.ts';

/** One request to the public API, in the name of whoever uses the tools. */
export interface ToolRequest {
  readonly tool: Tool;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly body: JsonObject | undefined;
}

/** Resolves to the answer as JSON, undefined for none. Throws ToolRefusal for what the API rejects. */
export type SendToolRequest = (request: ToolRequest) => Promise<unknown>;

/** What the client is told in place of an answer. */
export class ToolRefusal extends Error {
  override readonly name = 'ToolRefusal';
}

/** The longest message of a client. */
export const messageBytesMax = 1024 * 1024;

/** A longer answer would fill what a model can read. */
const answerLengthMax = 100_000;

/** Returns what the API answers, as text. Throws ToolRefusal for wrong values, a rejected request and an answer that is too long. */
export async function callTool(tool: Tool, values: JsonObject, send: SendToolRequest): Promise<string> {
  const answer = await send(requestOf(tool, values));
  const text = answer === undefined ? 'Done.' : JSON.stringify(answer);
  if (text.length > answerLengthMax)
    throw new ToolRefusal(
      `The answer has ${text.length} characters, more than ${answerLengthMax}. Ask for fewer with perPage or fields.`,
    );
  return text;
}

function requestOf(tool: Tool, values: JsonObject): ToolRequest {
  for (const name of Object.keys(values))
    if (!Object.hasOwn(tool.values, name))
      throw new ToolRefusal(`${name}: unknown. Expected ${Object.keys(tool.values).join(', ')}.`);
  const params: Record<string, string> = {};
  const query: Record<string, string> = {};
  let body: JsonObject | undefined;
  for (const [name, expected] of Object.entries(tool.values)) {
    const value = ownMember(values, name);
    if (value === undefined || value === null) {
      if (expected.isRequired === true) throw new ToolRefusal(`${name}: missing.`);
      continue;
    }
    requireType(name, value, expected);
    if (expected.in === 'body') body = isJsonObject(value) ? value : {};
    else if (expected.in === 'member') body = { ...body, [name]: value };
    else
      (expected.in === 'path' ? params : query)[name] =
        typeof value === 'string' ? value : JSON.stringify(value);
  }
  return { tool, params, query, body };
}

/** Throws ToolRefusal for a value of another type, or one that is too large. */
function requireType(name: string, value: unknown, { type, max = Infinity, in: place }: ToolValue): void {
  const isOfType =
    type === 'integer'
      ? Number.isSafeInteger(value) && Number(value) > 0
      : type === 'array'
        ? Array.isArray(value)
        : type === 'object'
          ? isJsonObject(value)
          : typeof value === type;
  if (!isOfType)
    throw new ToolRefusal(
      `${name}: expected ${type === 'integer' ? 'a positive integer' : `a value of type ${type}`}.`,
    );
  if (Number(value) > max) throw new ToolRefusal(`${name}: at most ${max}.`);
  // Such segments would be another path.
  if (place === 'path' && (value === '' || value === '.' || value === '..'))
    throw new ToolRefusal(`${name}: not valid.`);
}
