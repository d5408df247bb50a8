/** Whether two secrets are the same; it takes as long wherever they differ. */
export function sameSecret(given: string, secret: string): boolean {
  let difference = given.length ^ secret.length;
  for (let place = 0; place < secret.length; place++) {
    difference |= (given.charCodeAt(place) || 0) ^ secret.charCodeAt(place);
  }
  return difference === 0;
}
