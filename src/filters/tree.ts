/**
 * A filter as it was understood. Every node knows where it stands in the text (UTF-16 units from 0), so that whoever
 * compiles it can say what is wrong where.
 */
export type FilterTree = Junction | Comparison;

/** Two or more conditions: all of them, or at least one. Junctions of one kind may stand inside each other. */
interface Junction {
  readonly kind: 'and' | 'or';
  readonly items: readonly FilterTree[];
  readonly position: number;
}

export interface Comparison {
  readonly kind: 'comparison';
  readonly left: OperandNode;
  readonly operator: Operator;
  /** Written with `?`: at least one value has to match, where the plain operator asks all of them. */
  readonly isAny: boolean;
  readonly right: OperandNode;
  /** Of its first operand. */
  readonly position: number;
}

export type Operator = '=' | '!=' | '~' | '!~' | '<' | '<=' | '>' | '>=';

export type OperandNode = IdentifierNode | NumberNode | TextNode | CallNode;

export interface IdentifierNode {
  readonly kind: 'identifier';
  /** As written, a modifier included: `author.name`, `tags:each`, `@now`. */
  readonly name: string;
  readonly position: number;
}

interface NumberNode {
  readonly kind: 'number';
  readonly value: number;
  readonly position: number;
}

interface TextNode {
  readonly kind: 'text';
  /** Without its quotes and escapes. */
  readonly value: string;
  readonly position: number;
}

export interface CallNode {
  readonly kind: 'call';
  readonly name: string;
  readonly arguments: readonly OperandNode[];
  readonly position: number;
}
