/*
 * Answers that may be promises. A store made of another one answers as that one does: at once, or
 * by a promise. These four are the only places that tell them apart.
 */

/** What comes after an answer: at once, or when its promise is kept. */
export function andThen<Value, Next>(answer: Value, then: (value: Awaited<Value>) => Next): Next {
  return (answer instanceof Promise ? answer.then(then) : then(answer as Awaited<Value>)) as Next;
}

/** The answer of a call, or what is done about its error. */
export function orElse<Value>(call: () => Value, recover: (error: unknown) => Value): Value {
  try {
    const answer = call();
    return answer instanceof Promise ? answer.catch(recover) as Value : answer;
  } catch (error) {
    return recover(error);
  }
}

/** What is done when a call has ended, well or not. */
export function andFinally<Value>(call: () => Value, end: () => void): Value {
  let answer: Value;
  try {
    answer = call();
  } catch (error) {
    end();
    throw error;
  }
  if (answer instanceof Promise) return answer.finally(end) as Value;
  end();
  return answer;
}

/** A value that is known, in the way in which another answer came. */
export function likeAnswer<Value>(answer: unknown, value: Value): Value {
  return answer instanceof Promise ? Promise.resolve(value) as Value : value;
}
