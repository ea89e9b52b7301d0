/// JSON pointers (RFC 6901).
package enum JSONPointer {
  /// Returns the pointer to the member `name` of the value at `pointer`.
  package static func appending(_ name: String, to pointer: String) -> String {
    guard name.utf8.contains(where: { $0 == UInt8(ascii: "~") || $0 == UInt8(ascii: "/") }) else {
      return pointer + "/" + name
    }
    return pointer + "/"
      + name.unicodeScalars.map { $0 == "~" ? "~0" : $0 == "/" ? "~1" : String($0) }.joined()
  }
}
