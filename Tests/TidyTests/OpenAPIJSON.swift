import Foundation
import Yams

/// A YAML document in JSON, with the order of its members.
enum OpenAPIJSON {
  struct Unsupported: Error {
    let text: String
  }

  static func write(_ node: Node, to text: inout String) throws {
    switch node {
    case .mapping(let mapping):
      text += "{"
      for (index, (key, value)) in mapping.enumerated() {
        guard let name = key.scalar?.string else { throw Unsupported(text: "\(key)") }
        text += (index > 0 ? "," : "") + quoted(name) + ":"
        try write(value, to: &text)
      }
      text += "}"
    case .sequence(let sequence):
      text += "["
      for (index, value) in sequence.enumerated() {
        if index > 0 { text += "," }
        try write(value, to: &text)
      }
      text += "]"
    case .scalar(let scalar): text += try self.text(of: node, scalar)
    case .alias: throw Unsupported(text: "an alias without its anchor")
    }
  }

  /// The text of a scalar, by the type that YAML gives it.
  private static func text(of node: Node, _ scalar: Node.Scalar) throws -> String {
    switch node.tag.description {
    case "tag:yaml.org,2002:str": return quoted(scalar.string)
    case "tag:yaml.org,2002:null": return "null"
    case "tag:yaml.org,2002:bool":
      guard let value = node.bool else { throw Unsupported(text: scalar.string) }
      return value ? "true" : "false"
    case "tag:yaml.org,2002:int":
      guard let value = node.int else { throw Unsupported(text: scalar.string) }
      return "\(value)"
    case "tag:yaml.org,2002:float": return scalar.string
    // A time in an example is text.
    case "tag:yaml.org,2002:timestamp": return quoted(scalar.string)
    default: throw Unsupported(text: "\(node.tag) \(scalar.string)")
    }
  }

  private static func quoted(_ text: String) -> String {
    var quoted = "\""
    for character in text.unicodeScalars {
      switch character {
      case "\"": quoted += "\\\""
      case "\\": quoted += "\\\\"
      case "\n": quoted += "\\n"
      case "\t": quoted += "\\t"
      case _ where character.value < 0x20: quoted += String(format: "\\u%04x", character.value)
      default: quoted.unicodeScalars.append(character)
      }
    }
    return quoted + "\""
  }
}
